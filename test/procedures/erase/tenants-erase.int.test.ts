// docs/SPEC-erase.md, ERASE-R1 to ERASE-R7, ERASE-C1 and ERASE-C2.
import type { ContainerClient } from '@azure/storage-blob';
import { Client } from 'pg';
import { expect, it, vi } from 'vitest';
import type { ErasableStore } from '../../../src/access/blob-store.ts';
import { MillraceError, messageOf } from '../../../src/base/errors.ts';
import { digestOf } from '../../../src/engine/erasures/record.ts';
import { Jobs } from '../../../src/jobs/jobs.ts';
import { searchEverything } from '../../../src/procedures/erase/erase-search.ts';
import { type EraseOptions, erase } from '../../../src/procedures/erase/erase.ts';
import { startEmbeddedJobs } from '../../../src/host/dev/jobs-embedded.ts';
import { useArchiveStage } from '../../support/each-stage.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import type { Stage } from '../../support/stage.ts';
import { ERASE, GONE, STAYS, eraseOptions, everything, fill, naming, defer } from '../tenants/leaving.ts';

let stage: Stage;
let blobs: ContainerClient;
useArchiveStage(ERASE, async (opened) => {
  ({ stage, blobs } = opened);
  await fill(stage);
});

/** What is stored of the store that stays, and names no other. */
const ofOthers = (all: ReadonlyMap<string, string>): [string, string][] =>
  [...all].filter((one) => naming(new Map([one]), STAYS).length > 0 && naming(new Map([one]), GONE).length === 0);

async function expectErased(before: ReadonlyMap<string, string>): Promise<void> {
  const after = await everything(stage, blobs);
  expect(naming(after, GONE)).toEqual([]);
  expect(ofOthers(before).map(([place]) => [place, after.get(place)])).toEqual(ofOthers(before));
  // They name no one: their places are digests.
  expect([...after.values()].filter((text) => text.includes('"millrace.published"'))).toHaveLength(2);
}

it('an erasure removes everything of the tenant, and leaves another’s byte for byte', async () => {
  const before = await everything(stage, blobs);
  expect(naming(before, GONE).length).toBeGreaterThan(90);
  expect(ofOthers(before).length).toBeGreaterThan(90);
  const options = await eraseOptions(stage);
  const certificate = await erase(options);
  await expectErased(before);
  expect(certificate).toMatchObject({
    pipeline: 'erase',
    digest: digestOf(options.record.salt, GONE),
    removed: { Orders: 5, Stores: 1, 'archived versions': 3, blobs: 2, 'dead letters': 7, 'audit records': 1 },
    held: [],
    unreadable: [],
    mentions: {},
    rebuild: ['totals@1'],
  });
  // The stored one is the same.
  const stored = (await everything(stage, blobs)).entries().find(([, text]) => text.includes('"millrace.certificate"'));
  expect(JSON.parse(stored![1])).toMatchObject(certificate);
  expect(await options.records.read()).toMatchObject([{ state: 'erased' }]);
  // Again: nothing is left to remove, and the counts stay.
  expect((await erase(options)).removed).toEqual(certificate.removed);
});

it(
  'an erasure that was killed at any request and run again ends as if it had not been',
  { timeout: 120_000 },
  async () => {
    const seed = suiteSeed();
    console.log(`seed ${seed}`);
    const random = new Random(seed);
    let before = await everything(stage, blobs);
    let kills = 0;
    for (let run = 0; kills < 30 && run < 100; run++) {
      const options = await eraseOptions(stage);
      // Early requests more often: a run that resumes sends fewer.
      const nth = 1 + random.int(random.chance(0.6) ? 12 : 50);
      const killed = random.chance(0.3) ? dying(options, 1 + random.int(25)) : options;
      const effect = random.chance(0.5) ? 'after' : 'before';
      if (killed === options) stage.emulator.faults({ rules: [{ nth, status: 400, effect }] });
      const ended = await erase(killed).then(
        () => true,
        () => false,
      );
      stage.emulator.faults({});
      await freed();
      if (!ended) kills += 1;
      else {
        await expectErased(before);
        await options.records.remove(options.record.id);
        await fill(stage, [GONE]);
        // The host of `fill` has drained it.
        await defer(stage, STAYS);
        before = await everything(stage, blobs);
      }
    }
    expect(kills).toBe(30);
    await erase(await eraseOptions(stage));
    await expectErased(before);
  },
);

/** A process that was killed leaves its lock to its age. */
async function freed(): Promise<void> {
  await stage.services.place.state
    .item('erasing|erase', 'locks')
    .delete()
    .catch(() => undefined);
}

/** The process dies at a request to the storage account. */
function dying(options: EraseOptions, nth: number): EraseOptions {
  let left = nth;
  const step = (): void => {
    left -= 1;
    if (left <= 0) throw new Error('killed');
  };
  const { store } = options;
  const dies: ErasableStore = {
    put: async (...given) => (step(), store!.put(...given)),
    read: async (name) => (step(), store!.read(name)),
    list: (prefix) => store!.list(prefix),
    listEver: async function* (prefix) {
      step();
      yield* store!.listEver(prefix);
    },
    readEver: async (name) => (step(), store!.readEver(name)),
    remove: async (name) => {
      step();
      const outcome = await store!.remove(name);
      step();
      return outcome;
    },
  };
  return { ...options, store: dies };
}

it('an erasure removes what a tenant writes meanwhile in another round, and gives up where it never ends', async () => {
  const before = await everything(stage, blobs);
  const late = { id: 'late', type: 'customer', storeId: GONE, name: 'Late' };
  const options = await eraseOptions(stage);
  const writes = (rounds: number): EraseOptions => {
    let left = rounds;
    const passed = async (): Promise<void> => {
      if ((left -= 1) >= 0) await stage.container('Customers').items.upsert(late);
    };
    return { ...options, passed };
  };
  const refused = await erase(writes(Infinity)).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(MillraceError);
  expect(refused).toMatchObject({ code: 'erase-unfinished', retryable: true });
  expect(messageOf(refused)).toBe('After 4 rounds the tenant still had 1 removed in the last one');
  expect(await options.records.read()).toMatchObject([{ state: 'removing' }]);
  await erase(writes(2));
  await expectErased(before);
});

it('an erasure removes the records of documents that expire while it waits: only these say whose they are', async () => {
  const before = await everything(stage, blobs);
  const orders = stage.container('Orders');
  const options = await eraseOptions(stage);
  let expired = 0;
  const certificate = await erase({
    ...options,
    stopped: async () => {
      // As their time to live does after the application has marked them as deleted.
      const { resources } = await orders.items
        .query<{ id: string; customerId: string }>(`SELECT c.id, c.customerId FROM c WHERE c.storeId = '${GONE}'`)
        .fetchAll();
      for (const { id, customerId } of resources) await orders.item(id, customerId).delete();
      expired = resources.length;
    },
  });
  expect(expired).toBeGreaterThan(0);
  expect(certificate).toMatchObject({ ended: expect.any(String) });
  await expectErased(before);
});

it('one process at a time erases', async () => {
  const options = await eraseOptions(stage);
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = erase({ ...options, stopped: () => promise });
  await vi.waitFor(
    async () => expect((await stage.services.place.state.item('erasing|erase', 'locks').read()).statusCode).toBe(200),
    30_000,
  );
  await expect(erase(options)).rejects.toMatchObject({ code: 'under-way' });
  resolve();
  await first;
});

it('an erasure removes the jobs that work for the tenant, and ended ones that name it', async () => {
  await using datastore = await startEmbeddedJobs();
  const jobs = await Jobs.open(datastore.url, 'erase');
  const operation = (input: Record<string, unknown>) => ({ name: 'archive sweep', input, actor: 'test' });
  const enqueue = (name: string, input: Record<string, unknown>) =>
    jobs.enqueue('operation', operation(input), { dedupe: JSON.stringify([name, input]), attempts: 1 });
  await enqueue('ended', { tenant: GONE });
  await enqueue('result', {});
  const ended = vi.fn<() => void>();
  const working = jobs.work({ operation: async () => ({ tenants: [GONE] }) }, { onFinished: ended });
  await vi.waitFor(() => expect(ended).toHaveBeenCalledTimes(2), { timeout: 20_000 });
  await working.stop();
  await enqueue('waits', { tenant: GONE });
  await enqueue('others', { tenant: STAYS });
  await jobs.enqueue(
    'reaction',
    { projection: 'days@1', id: `${GONE}-small`, key: [GONE] },
    { dedupe: 'r1', delayMs: 60_000 },
  );
  await jobs.enqueue(
    'reaction',
    { projection: 'days@1', id: `${STAYS}-small`, key: [STAYS] },
    { dedupe: 'r2', delayMs: 60_000 },
  );
  expect((await erase(await eraseOptions(stage, jobs))).removed).toMatchObject({ jobs: 4 });
  const left = [];
  for await (const { payload, stored } of jobs.every()) left.push([payload, JSON.stringify(stored).includes(GONE)]);
  expect(left).toEqual([
    [operation({ tenant: STAYS }), false],
    [{ projection: 'days@1', id: `${STAYS}-small`, key: [STAYS] }, false],
  ]);
  expect((await rowsOf(datastore.url)).filter((row) => row.includes(GONE))).toEqual([]);
  expect((await rowsOf(datastore.url)).filter((row) => row.includes(STAYS))).toHaveLength(3);
  // The key that kept a second job of the kind away went too.
  expect(await enqueue('waits', { tenant: 'another' })).not.toBe('');
  expect((await jobs.counts()).waiting).toBe(2);
  await jobs.close();
});

/** Every row of every table of the datastore, as text. */
async function rowsOf(url: string): Promise<string[]> {
  const client = new Client(url);
  await client.connect();
  const tables = await client.query<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'bullmq'",
  );
  const found: string[] = [];
  for (const { name } of tables.rows)
    found.push(
      ...(await client.query<object>(`SELECT * FROM bullmq."${name}"`)).rows.map((row) => JSON.stringify(row)),
    );
  await client.end();
  return found;
}

it('an erasure ends on a day with lagging replicas, lost answers and throttled requests', async () => {
  const before = await everything(stage, blobs);
  const options = { ...(await eraseOptions(stage)), readLagMs: 100 };
  stage.emulator.faults('adverse');
  await erase(options);
  stage.emulator.faults({});
  await expectErased(before);
});

it('an erasure removes the copy of a document that a migration left in another container', async () => {
  const { database, state } = stage.services.place;
  await database.containers.create({ id: 'OldOrders', partitionKey: { paths: ['/customerId'] } });
  const old = database.container('OldOrders');
  for (const storeId of [GONE, STAYS]) await old.items.create({ id: `o-${storeId}`, storeId, customerId: 'c1' });
  await state.items.create({
    id: 'OldOrders',
    pk: 'migrations',
    type: 'millrace.migration',
    name: 'OldOrders',
    into: 'Orders',
  });
  expect((await erase(await eraseOptions(stage))).removed).toMatchObject({ OldOrders: 1 });
  const { resources } = await old.items.readAll<{ storeId: string }>().fetchAll();
  expect(resources.map(({ storeId }) => storeId)).toEqual([STAYS]);
});

it('an erasure certifies by a digest what a hold keeps', async () => {
  const options = await eraseOptions(stage);
  const { store, record } = options;
  const kept: string[] = [];
  for await (const name of store!.listEver('')) if (name.endsWith('.gz')) kept.push(name);
  const [archived, letter] = [
    kept.find((name) => name.startsWith('orders-cold@1/leaving'))!,
    kept.find((name) => name.startsWith('dead-letters/'))!,
  ];
  const holding = Object.assign(Object.create(store!) as ErasableStore, {
    put: store!.put.bind(store),
    read: store!.read.bind(store),
    list: store!.list.bind(store),
    listEver: store!.listEver.bind(store),
    readEver: store!.readEver.bind(store),
    remove: async (name: string) => (name === archived || name === letter ? 'held' : store!.remove(name)),
  });
  const { held } = await erase({ ...options, store: holding });
  expect(held).toContain(digestOf(record.salt, archived));
  expect(JSON.stringify(held)).not.toContain(GONE);
  const found = naming(await everything(stage, blobs), GONE);
  expect(found.filter((place) => !place.startsWith('blob '))).toEqual([]);
  // The hold ended.
  expect((await erase(options)).held).toEqual([]);
  expect(naming(await everything(stage, blobs), GONE)).toEqual([]);
});

it('the search counts what mentions the tenant in documents of others, and leaves it', async () => {
  const mention = { id: 'm1', type: 'customer', storeId: STAYS, name: `Moved from ${GONE}` };
  await stage.container('Customers').items.create(mention);
  await stage.container('Customers').items.create({ ...mention, id: 'm2', name: `${GONE}er` });
  const options = await eraseOptions(stage);
  const search = () => searchEverything({ ...options, held: new Set() });
  expect(await search()).toMatchObject({ mentions: { Customers: 1 }, left: { Orders: 5, Customers: 2, Summaries: 8 } });
  expect((await erase(options)).mentions).toEqual({ Customers: 1 });
  expect(await search()).toMatchObject({ mentions: { Customers: 1 }, left: {} });
  const { resource } = await stage.container('Customers').item('m1', STAYS).read<{ name: string }>();
  expect(resource?.name).toBe(mention.name);
});

it('an erasure erases a tenant whose name is a word of the pipeline, and leaves that word alone', async () => {
  await erase(await eraseOptions(stage));
  await fill(stage, ['Orders']);
  await stage.services.place.state.items.create({
    id: 'host',
    pk: 'status',
    type: 'millrace.status',
    feeds: [{ container: 'Orders' }],
  });
  const before = await everything(stage, blobs);
  const { removed, mentions } = await erase(await eraseOptions(stage, undefined, 'Orders'));
  expect(removed).toMatchObject({ Orders: 5, 'archived versions': 3, 'reports of hosts': 1 });
  expect(mentions['state']).toBeGreaterThan(10);
  const after = await everything(stage, blobs);
  expect(
    [...after.values()].filter((text) => text.includes('"storeId":"Orders"') || text.includes('Orders-o')),
  ).toEqual([]);
  // The register has the queues of both.
  const stays = [...before].filter((one) => naming(new Map([one]), STAYS).length > 0 && !one[0].includes('/register/'));
  expect(stays.map(([place]) => [place, after.get(place)])).toEqual(stays);
});

it('the search finds each kind of record that the removal leaves out', async () => {
  const options = await eraseOptions(stage);
  const search = async () => (await searchEverything({ ...options, held: new Set() })).left;
  const before = await search();
  await erase(options);
  expect(await search()).toEqual({});
  expect(Object.keys(before).toSorted()).toEqual(
    ['Customers', 'Days', 'Orders', 'Spendings', 'StoreCountries', 'Stores', 'Summaries', 'blobs', 'state'].toSorted(),
  );
});
