// A whole feed of changes that one projection refuses, at the processor's own timings, where each request takes as long as
// across a country: in virtual time, with the real host, leases, engine and server.
import { CosmosClient } from '@azure/cosmos';
import { expect, it, onTestFinished } from 'vitest';
import { startEmulator } from '../../src/emulator/index.ts';
import { countLetters } from '../../src/engine/dead-letters/dead-letter-counts.ts';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { Engine } from '../../src/engine/engine.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import { CosmosLeaseStore } from '../../src/feed/leases/cosmos-lease-store.ts';
import { FeedHost } from '../../src/feed/sharing/feed-host.ts';
import { CosmosChangeSource } from '../../src/feed/reading/source.ts';
import { type Runner, evaluate } from '../../src/kinds/runner.ts';
import { type Request, VirtualTime } from '../support/virtual-time.ts';

const POISONED = 5_000;
const GOOD = 200;
const REQUEST_MS = 100;
/** Five times as long as a handler may show no progress. */
const MOST_MS = 900_000;

const runner = (name: string, apply: Runner['apply']): Runner => ({
  id: `${name}@1`,
  order: 'document',
  sources: [{ container: 'Orders', type: 'order' }],
  apply,
});

it(`${POISONED} poisoned changes are parked by one tenure, each in one write, and hold no other projection up`, async () => {
  const emulator = await startEmulator({ seed: 7 });
  const time = new VirtualTime(emulator);
  let letterWrites = 0;
  let slow = false;
  const httpClient = time.transport(async (request, send) => {
    letterWrites += lettersIn(request);
    if (slow) await time.sleep(REQUEST_MS);
    return send();
  });
  const client = new CosmosClient({ ...emulator.clientOptions, httpClient, consistencyLevel: 'Session' });
  onTestFinished(async () => {
    client.dispose();
    await emulator.close();
  });
  const { database } = await client.databases.create({ id: 'd' });
  const { container: orders, resource } = await database.containers.create({ id: 'Orders', partitionKey: '/storeId' });
  const { container: state } = await database.containers.create({
    id: 'millrace',
    partitionKey: '/pk',
    defaultTtl: -1,
  });
  const { container: leases } = await database.containers.create({ id: 'leases', partitionKey: '/id', defaultTtl: -1 });
  for (let from = 0; from < POISONED + GOOD; from += 100) {
    const some = Array.from({ length: 100 }, (_, n) => ({
      id: `o${from + n}`,
      type: 'order',
      storeId: 's',
      bad: from + n < POISONED,
    }));
    await orders.items.batch(
      some.map((resourceBody) => ({ operationType: 'Create' as const, resourceBody })),
      's',
    );
  }

  const applied = { strict: new Map<string, number>(), lenient: new Map<string, number>() };
  const count = (into: Map<string, number>, changes: readonly Change[]): Promise<void> => {
    for (const { id } of changes) into.set(id, (into.get(id) ?? 0) + 1);
    return Promise.resolve();
  };
  const strict = runner('strict', (changes) => {
    evaluate(changes, ({ doc }) => {
      if (doc?.['bad']) throw new Error('It is bad');
    });
    return count(applied.strict, changes);
  });
  const lenient = runner('lenient', (changes) => count(applied.lenient, changes));
  const engine = new Engine({ database, runners: [strict, lenient], deadLetters: new DeadLetters(state) });

  const tenures = new Set<AbortSignal>();
  const rid = resource?._rid ?? '';
  const host = new FeedHost({
    container: 'Orders',
    host: 'a',
    start: 'beginning',
    clock: time,
    source: new CosmosChangeSource(
      orders,
      rid,
      { name: 'Orders', keyPaths: [['storeId']], types: new Map([['order', {}]]) },
      { epoch: 1, clock: time },
    ),
    leases: new CosmosLeaseStore({ monitored: orders, leases, host: 'a', prefix: 'p', clock: time }),
    handle: async (page, fence, tenure) => {
      tenures.add(fence.signal);
      await engine.consume(page, fence, { progress: () => tenure.progress() });
    },
  });
  slow = true;
  const began = time.monotonic();
  const isDrained = (): boolean =>
    applied.lenient.size === POISONED + GOOD && host.status().leases.every(({ idleSince }) => idleSince !== undefined);
  const drained = async (): Promise<void> => {
    await host.start();
    while (!isDrained() && time.monotonic() - began < MOST_MS) await time.sleep(1_000);
  };
  await time.run(drained());
  console.log(
    `${POISONED} letters at ${REQUEST_MS} ms a request: drained after ${(time.monotonic() - began) / 1_000} s`,
  );
  slow = false;
  await time.run(host.stop());
  expect(await time.run(countLetters(state))).toMatchObject([{ projection: 'strict@1', count: POISONED }]);
  expect(letterWrites).toBe(POISONED);
  expect(tenures.size).toBe(1);
  expect([...applied.lenient.values()]).toEqual(Array.from({ length: POISONED + GOOD }, () => 1));
  expect(applied.strict.size).toBe(GOOD);
});

/** Letters that a request would write. */
function lettersIn({ method, body }: Request): number {
  if (method !== 'POST' && method !== 'PUT') return 0;
  if (typeof body !== 'string' || !body.includes('"kind":"dead-letter"')) return 0;
  return body.split('"kind":"dead-letter"').length - 1;
}
