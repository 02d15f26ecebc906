// A copy with what is joined in, in the order of events that random histories come to once in thousands.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { copyRunner } from '../../src/kinds/copy/copy-runner.ts';
import type { DocumentAccess } from '../../src/access/document-access.ts';
import { bound } from '../support/access.ts';
import { COPY, CUSTOMERS, ORDERS, source } from './exactness.ts';
import { Crash } from './history.ts';
import { type TwoHosts, openTwoHosts } from './two-hosts.ts';

let hosts: TwoHosts;
beforeAll(async () => {
  hosts = await openTwoHosts({ Orders: '/tenant', Customers: '/tenant', Copies: '/place' });
});
afterAll(() => hosts[Symbol.asyncDispose]());

const SPEC = {
  ...COPY,
  stable: true,
  joins: [{ name: 'customer', of: CUSTOMERS, on: { tenant: 'tenant', id: 'customer' }, missing: 'null' as const }],
  map: (doc: Record<string, unknown>, joined: Readonly<Record<string, Record<string, unknown> | null>>) => ({
    id: String(doc['id']),
    place: 'p',
    name: joined['customer']?.['name'] ?? null,
  }),
};

it.each([
  ['its present name, read ahead of its feed', 'new', undefined],
  ['none, as it is deleted again', null, 'now'],
])('a late copy with a customer’s former name gives way to %s', async (_what, name, deletedAt) => {
  const sources = new Map([ORDERS, CUSTOMERS].map((of) => [of.container, source(of)]));
  const runner = () =>
    copyRunner(SPEC, { name: 'Copies', keyPaths: [['place']] }, { stateContainer: 'millrace', sources, readLagMs: 0 });
  const [steady, late] = [runner(), runner()];
  const customer = { id: `c-${String(name)}`, tenant: 't', type: 'customer' };
  const of = (container: string) => sources.get(container) ?? source(ORDERS);
  // Ahead of it all, for the case of none: it is known to be gone.
  const gone = await hosts.write(of('Customers'), { ...customer, name: 'first', deletedAt: 'now' });
  if (deletedAt) await steady.apply([gone], hosts.access(0));
  const former = await hosts.write(of('Customers'), { ...customer, name: 'former' });
  const present = await hosts.write(of('Customers'), { ...customer, name: 'new', ...(deletedAt && { deletedAt }) });
  const order = { id: `o-${String(name)}`, tenant: 't', type: 'order', customer: customer.id };
  await steady.apply([await hosts.write(of('Orders'), order)], hosts.access(0));

  // The other host has the former name in hand, falls asleep before it writes the copy, and dies once it has.
  const asleep = Promise.withResolvers<void>();
  const woken = Promise.withResolvers<void>();
  const inner = hosts.access(1);
  const access: DocumentAccess = {
    ...bound(inner),
    commit: async (container, key, writes) => {
      // A first guess is that there is no copy.
      if (container !== 'Copies' || writes[0]?.op !== 'replace') return inner.commit(container, key, writes);
      asleep.resolve();
      await woken.promise;
      await inner.commit(container, key, writes);
      throw new Crash();
    },
  };
  const dying = late.apply([former], access).catch((error: unknown) => error);
  await asleep.promise;
  await steady.apply([former, present], hosts.access(0));
  woken.resolve();
  expect(await dying).toBeInstanceOf(Crash);
  expect(await hosts.read('Copies', order.id, 'p')).toMatchObject({ name });
});
