// An archive of a container that is read by its all-versions feed, with live hosts: the documents leave by expiry.
import { ChangeFeedPolicy, ChangeFeedRetentionTimeSpan, type Container } from '@azure/cosmos';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { openArchive, historyOf } from '../../src/archive/open.ts';
import { restoreArchive } from '../../src/archive/restore.ts';
import type { Archive } from '../../src/archive/types.ts';
import { verifyArchive } from '../../src/archive/verify.ts';
import type { Doc } from '../../src/pipeline/specs.ts';
import { RESTORING } from '../../src/feed/reading/mapper.ts';
import { sweep } from '../../src/procedures/archive/sweep.ts';
import { LEAVING_TTL_S } from '../../src/kinds/archive/leaving.ts';
import { openStore } from '../../src/runtime/archives.ts';
import { type App, compose } from '../../src/runtime/hosts/processor-host.ts';
import type { LoadedPipeline } from '../../src/runtime/workspace.ts';
import { type Azurite, startAzurite } from '../support/azurite.ts';
import { COLD, type Stage, openStage } from '../support/stage.ts';

const signal = AbortSignal.timeout(120_000);
const order = (id: string, cents: number): Doc & { id: string } => ({
  id,
  type: 'order',
  storeId: 's1',
  customerId: 'c1',
  placedAt: '2026-01-05T10:00:00.000Z',
  cents,
});

let azurite: Azurite;
let stage: Stage;
let loaded: LoadedPipeline;
let app: App;
let orders: Container;
let archive: Archive;
let used = 0;

beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(() => azurite?.close());
beforeEach(async () => {
  const { connectionString } = azurite;
  stage = await openStage({}, COLD, { connectionString, container: `versions-${(used += 1)}` });
  orders = stage.container('Orders');
  const { resource } = await orders.read();
  await orders.delete();
  const changeFeedPolicy = new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10));
  await stage.services.place.database.containers.create({ ...resource, changeFeedPolicy });
  const { pipeline } = stage.loaded;
  const { archives } = pipeline;
  const sources = [{ container: 'Orders', type: 'order', feed: 'all-versions' } as const];
  loaded = { ...stage.loaded, pipeline: { ...pipeline, sources } };
  app = await compose({
    ...stage,
    loaded,
    host: 'all',
    readLagMs: 0,
    timings: { pollMs: 40, acquireMs: 20, checkpointMs: 5 },
  });
  await app.start();
  await app.drained(signal);
  const { database, state } = stage.services.place;
  const store = await openStore(stage.services, signal);
  const [spec] = archives;
  if (!spec) throw new Error('The fixture has an archive');
  archive = await openArchive(spec, loaded.pipeline, loaded.model, { database, state, store });
  for (const one of [order('a', 1), order('b', 10), order('c', 100)]) await orders.items.create(one);
  await app.drained(signal);
  await sweepAll();
});
afterEach(async () => {
  await app.stop();
  await stage[Symbol.asyncDispose]();
});

/** Until every order has left: the position of the hosts, which holds a document back, is written after the page. */
async function sweepAll(): Promise<void> {
  for (let left = 0; left < 3;) {
    const [swept] = await sweep({ ...stage, loaded, signal, screen: { draw: () => undefined, line: () => undefined } });
    left += swept?.removed ?? 0;
    await app.drained(signal);
  }
}

const expireAll = async (): Promise<void> => {
  for (const id of ['a', 'b', 'c']) stage.emulator.expire('shop/Orders', id);
  await app.drained(signal);
};
async function rows(of: Container, type: string): Promise<Doc[]> {
  const query = { query: 'SELECT * FROM c WHERE c.type = @type', parameters: [{ name: '@type', value: type }] };
  return (await of.items.query<Doc>(query).fetchAll()).resources;
}
const cents = async (): Promise<unknown> => (await rows(stage.container('Days'), 'day')).map((day) => day['cents']);
async function history(): Promise<[string, unknown, boolean][]> {
  const { database, state } = stage.services.place;
  const all = historyOf(loaded.pipeline, loaded.model, { database, state, store: archive.store, readLagMs: 0 });
  const found: [string, unknown, boolean][] = [];
  for await (const { id, doc, cold } of all.documents('Orders', signal)) found.push([id, doc, cold]);
  return found.toSorted(([one], [other]) => (one < other ? -1 : 1));
}

it('documents leave by one patch and by expiry; sums stay, history has each once, and they come back as they were', async () => {
  const leaving = await rows(orders, 'order');
  expect(leaving.map(({ ttl }) => ttl)).toEqual([LEAVING_TTL_S, LEAVING_TTL_S, LEAVING_TTL_S]);
  const all = [order('a', 1), order('b', 10), order('c', 100)];
  expect(await history()).toEqual(all.map((doc) => [doc.id, doc, false]));
  expect(await cents()).toEqual([111]);

  await expireAll();
  expect(await rows(orders, 'order')).toEqual([]);
  expect(await cents()).toEqual([111]);
  expect(await history()).toEqual(all.map((doc) => [doc.id, doc, true]));
  expect(await verifyArchive(archive, { signal })).toMatchObject({ archived: 3, faults: [] });

  expect(await restoreArchive(archive, {}, { signal })).toMatchObject({ restored: 3 });
  await app.drained(signal);
  expect(await cents()).toEqual([111]);
  expect(await history()).toEqual(all.map((doc) => [doc.id, doc, false]));
  expect((await rows(orders, 'order')).map(({ ttl }) => ttl)).toEqual([undefined, undefined, undefined]);
});

it('a document that still stands comes back where it is, and stays', async () => {
  expect(await restoreArchive(archive, { documents: [{ key: ['s1'], id: 'b' }] }, { signal })).toMatchObject({
    restored: 1,
  });
  await expireAll();
  expect((await rows(orders, 'order')).map(({ id, ttl }) => [id, ttl])).toEqual([['b', undefined]]);
  expect(await cents()).toEqual([111]);
});

it('what an application writes back with mark and ttl is archived again, counted, and stays', async () => {
  const { resource } = await orders.item('b', 's1').read<Doc>();
  await orders.items.upsert({ ...resource, cents: 20 });
  await orders.item('c', 's1').patch([{ op: 'set', path: '/cents', value: 200 }]);
  await app.drained(signal);
  expect(await cents()).toEqual([221]);
  await expireAll();
  const found = await rows(orders, 'order');
  expect(found.map(({ id, ttl }) => [id, ttl])).toEqual([
    ['b', undefined],
    ['c', undefined],
  ]);
  expect(await cents()).toEqual([221]);
  expect(await history()).toMatchObject([
    ['a', { cents: 1 }, true],
    ['b', { cents: 20 }, false],
    ['c', { cents: 200 }, false],
  ]);
});

it('the same, although it has expired before a host read it', async () => {
  await app.stop();
  await orders.item('b', 's1').patch([{ op: 'set', path: '/cents', value: 20 }]);
  stage.emulator.expire('shop/Orders', 'b');
  app = await compose({ ...stage, loaded, host: 'next', readLagMs: 0, timings: { pollMs: 40, acquireMs: 20 } });
  await app.start();
  await app.drained(signal);
  expect(await rows(orders, 'order')).toMatchObject([{ id: 'a' }, { id: 'c' }]);
  expect(await cents()).toEqual([121]);
  expect(await history()).toContainEqual(['b', order('b', 20), true]);
  expect(await verifyArchive(archive, { signal })).toMatchObject({ archived: 3, faults: [] });
});

it('a hard delete of a document that leaves is a deletion, and a restore doesn’t bring it back', async () => {
  await orders.item('b', 's1').delete();
  await app.drained(signal);
  expect(await cents()).toEqual([101]);
  expect(await restoreArchive(archive, { documents: [{ key: ['s1'], id: 'b' }] }, { signal })).toMatchObject({
    restored: 0,
  });
  expect((await history()).map(([id]) => id)).toEqual(['a', 'c']);
});

it('a restore waits until a host has read that the document was deleted', async () => {
  await app.stop();
  await orders.item('b', 's1').delete();
  const restoring = restoreArchive(archive, { documents: [{ key: ['s1'], id: 'b' }] }, { signal });
  await vi.waitUntil(async () => (await rows(orders, RESTORING)).length === 1, 30_000);
  app = await compose({ ...stage, loaded, host: 'next', readLagMs: 0, timings: { pollMs: 40, acquireMs: 20 } });
  await app.start();
  expect(await restoring).toMatchObject({ restored: 0 });
  await app.drained(signal);
  expect((await rows(orders, 'order')).map(({ id }) => id)).toEqual(['a', 'c']);
  expect(await cents()).toEqual([101]);
});

it('a container without a default time to live is refused before anything leaves', async () => {
  const { resource } = await orders.read();
  const { defaultTtl: _, ...without } = resource ?? { id: 'Orders' };
  await orders.replace(without);
  const { spec, store } = archive;
  const { database, state } = stage.services.place;
  await expect(openArchive(spec, loaded.pipeline, loaded.model, { database, state, store })).rejects.toMatchObject({
    code: 'archive-no-ttl',
    hint: expect.stringContaining('`TTL: -1`'),
  });
});
