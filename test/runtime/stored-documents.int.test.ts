// Where documents are stored. Later versions find them by these names, so a change of this list is a change of a format.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { load } from '../../examples/storefront/workload.ts';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import { openStage } from '../support/stage.ts';
import { fast } from '../verbs/projections/versions.ts';

const STOREFRONT = join(import.meta.dirname, '../../examples/storefront');
const STORE = 'store-1';
const STEPS = 2_000;
type Stored = Readonly<Record<string, unknown>>;

it('stored documents have the containers, keys and ids that they had', async () => {
  const stage = await openStage({}, STOREFRONT);
  onTestFinished(() => stage[Symbol.asyncDispose]());
  let steps = 0;
  for await (const step of load({ seed: 5 })) {
    if (steps++ === STEPS) break;
    if (!('upsert' in step)) continue;
    const { storeId = STORE } = step.upsert as Stored;
    if (storeId === STORE) await stage.container(step.container).items.upsert(step.upsert);
  }
  const app = await compose({ ...stage, ...fast, host: 'one' });
  await app.start();
  await app.drained(AbortSignal.timeout(30_000));
  await app.stop();
  const { database } = stage.services.place;
  const { resources } = await database.containers.readAll().fetchAll();
  const names: string[] = [];
  for (const { id, partitionKey } of resources) {
    const paths = partitionKey?.paths ?? [];
    for (const doc of (await database.container(id).items.readAll<Stored>().fetchAll()).resources)
      names.push(JSON.stringify([id, paths.map((path) => doc[path.slice(1)]), doc['id'], doc['type']]));
  }
  const counts = Object.fromEntries(
    [...Map.groupBy(names, (name) => (JSON.parse(name) as [string])[0])].map(([name, of]) => [name, of.length]),
  );
  expect(counts).toEqual({
    Catalog: 43,
    Countries: 12,
    CustomerOrders: 112,
    Customers: 40,
    Months: 5,
    Orders: 45,
    OrdersByStatus: 32,
    Sales: 171,
    Skus: 28,
    StoreCountries: 12,
    Stores: 1,
    leases: 13,
    millrace: 327,
  });
  expect(createHash('sha256').update(names.toSorted().join('\n')).digest('hex')).toMatch(
    /^73d78979d72be70d78bbf7549b4d96e72b298/,
  );
});
