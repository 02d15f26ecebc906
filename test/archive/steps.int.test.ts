import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { BlobStore } from '../../src/access/blob-store.ts';
import { enlist, readManifest } from '../../src/archive/blobs/manifests.ts';
import { RESTORING } from '../../src/feed/reading/mapper.ts';
import { restoreArchive } from '../../src/archive/restore.ts';
import type { Selection } from '../../src/archive/types.ts';
import { visible } from '../../src/pipeline/oracle/recompute.ts';
import type { Change, Identity } from '../../src/feed/reading/change.ts';
import { Entries } from '../../src/kinds/archive/entries.ts';
import { archiveRunner } from '../../src/kinds/archive/archive-runner.ts';
import type { DocumentAccess } from '../../src/access/document-access.ts';
import { bound } from '../support/access.ts';
import { MemoryBlobStore } from './memory-blob-store.ts';
import { type ArchiveStage, OPEN, SIGNAL, SPEC, archiveStage, order } from './stage.ts';

const entries = new Entries('millrace');
const identity = (id: string): Identity => ({ container: 'Orders', key: ['t'], id });
const entryOf = async (stage: ArchiveStage, id: string) => (await entries.read([identity(id)], stage.access()))[0];
const restore = (stage: ArchiveStage, selection: Selection = {}, access?: DocumentAccess) =>
  restoreArchive({ ...stage.archive, ...(access ? { access: () => access } : {}) }, selection, { signal: SIGNAL });

test('what is due leaves, as gzip of a line each that any tool can read; the rest stays and is told', async () => {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  for (const doc of [
    order('a'),
    order('b', { date: '2000/05/07 18:20' }),
    order('young', { date: '2002-01-01' }),
    order('odd', { date: 'soon' }),
    order('gone', { deletedAt: 'now' }),
  ])
    await stage.orders.items.create(doc);
  const dry = await stage.sweep({ dryRun: true });
  expect(dry).toMatchObject({ archived: 2, removed: 0, bytes: 0, undated: 1 });
  expect(store.blobs.size).toBe(0);
  const swept = await stage.sweep();
  expect(swept).toMatchObject({ read: 4, archived: 2, removed: 2, held: 0, superseded: 0, undated: 1 });
  expect(swept.stayed).toEqual(['date of Orders/odd is not a date: "soon"']);
  expect(await stage.hot()).toEqual(['gone', 'odd', 'young']);
  const [blob, manifest] = [...store.blobs.keys()].toSorted();
  expect(blob).toMatch(/^cold@1\/t\/2000\/05\/[0-9a-f]{64}\.jsonl\.gz$/);
  expect(manifest).toBe('cold@1/t/2000/05/manifest.json');
  const lines = gunzipSync(store.blobs.get(blob ?? '')?.bytes ?? '')
    .toString()
    .trimEnd()
    .split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { doc: unknown }).doc)).toEqual([
    order('a'),
    order('b', { date: '2000/05/07 18:20' }),
  ]);
  expect(await stage.sweep()).toMatchObject({ archived: 0, removed: 0 });
  const told = (await stage.history()).map(({ id, cold, op }) => `${id} ${cold ? 'cold' : 'hot'} ${op}`).toSorted();
  expect(told).toEqual(['a cold upsert', 'b cold upsert', 'gone hot delete', 'odd hot upsert', 'young hot upsert']);
});

test('nothing leaves that somebody has not acknowledged, or has parked', async () => {
  const stage = await archiveStage();
  await stage.orders.items.create(order('a'));
  await stage.orders.items.create(order('b'));
  const [first] = await stage.changes();
  const acknowledged = () => first?.version.lsn;
  expect(await stage.sweep({ gate: async () => ({ ...OPEN, acknowledged: () => undefined }) })).toMatchObject({
    held: 2,
  });
  expect(await stage.sweep({ gate: async () => ({ ...OPEN, acknowledged, parked: () => true }) })).toMatchObject({
    held: 2,
  });
  expect(await stage.sweep({ gate: async () => ({ ...OPEN, acknowledged }) })).toMatchObject({ held: 1, removed: 1 });
  expect(await stage.hot()).toEqual(['b']);
});

test('a document that changes on its way out stays, and its change voids the entry', async () => {
  const stage = await archiveStage();
  await stage.orders.items.create(order('a'));
  const access = stage.access();
  const overtaken: DocumentAccess = {
    ...bound(access),
    commit: async (container, key, writes) => {
      if (writes[0]?.op === 'delete') await stage.orders.items.upsert(order('a', { cents: 2 }));
      return access.commit(container, key, writes);
    },
  };
  const swept = await stage.sweep({}, { access: () => overtaken });
  expect(swept).toMatchObject({ archived: 1, removed: 0, superseded: 1 });
  expect(await stage.history()).toMatchObject([{ id: 'a', cold: false, doc: { cents: 2 } }]);
  await stage.live();
  expect(await entryOf(stage, 'a')).toMatchObject({ state: 'void', blob: null });
});

test('a sweeper that was overtaken doesn’t move an entry back', async () => {
  const stage = await archiveStage();
  await stage.orders.items.create(order('a'));
  const [old] = await stage.changes();
  await stage.orders.items.upsert(order('a', { cents: 2 }));
  await stage.sweep();
  const before = await entryOf(stage, 'a');
  expect(await entries.archive('cold@1', old ?? never(), { name: 'old', line: 0 }, stage.access())).toBe('overtaken');
  expect(await entryOf(stage, 'a')).toEqual(before);
});

test('an entry that changed since a sweeper read it is read again', async () => {
  const stage = await archiveStage();
  await stage.orders.items.create(order('a'));
  const [old] = await stage.changes();
  await stage.orders.items.upsert(order('a', { cents: 2 }));
  const [newer] = await stage.changes();
  await stage.sweep();
  const before = await entryOf(stage, 'a');
  const blob = { name: 'late', line: 0 };
  const late = (change: Change | undefined, entry: typeof before) =>
    entries.archive('cold@1', change ?? never(), blob, stage.access(), { entry });
  expect(await late(old, undefined)).toBe('overtaken');
  expect(await late(newer, undefined)).toBe('there');
  expect(before && (await late(newer, { ...before, state: 'void', etag: '"earlier"' }))).toBe('there');
  expect(await entryOf(stage, 'a')).toEqual(before);
});

test('a soft delete leaves a void entry where there was none: its older version can’t be archived any more', async () => {
  const stage = await archiveStage();
  await stage.orders.items.create(order('a'));
  const [old] = await stage.changes();
  await stage.orders.items.upsert(order('a', { deletedAt: 'now' }));
  await stage.live();
  expect(await entryOf(stage, 'a')).toMatchObject({ state: 'void' });
  expect(await entries.archive('cold@1', old ?? never(), { name: 'old', line: 0 }, stage.access())).toBe('overtaken');
  // A zombie's older change does not void what came after it.
  await archiveRunner(SPEC, { stateContainer: 'millrace' }).apply([old ?? never()], stage.access());
  expect((await entryOf(stage, 'a'))?.version).not.toEqual(old?.version);
});

test('a restored document equals the original, stays, and is no new event until it changes', async () => {
  const stage = await archiveStage();
  await stage.orders.items.create(order('a', { nested: { list: [1, 'ü'] } }));
  await stage.orders.items.create(order('b'));
  await stage.sweep();
  expect(await stage.hot()).toEqual([]);
  expect(await restore(stage, { documents: [{ key: ['t'], id: 'a' }] })).toMatchObject({ restored: 1, skipped: 0 });
  const { resource } = await stage.orders.item('a', 't').read<Record<string, unknown>>();
  expect(visible(resource ?? {})).toEqual(order('a', { nested: { list: [1, 'ü'] } }));
  expect(await stage.changes()).toMatchObject([{ id: 'a', restored: true }]);
  await stage.live();
  expect(await stage.sweep()).toMatchObject({ read: 1, removed: 0 });
  expect((await stage.history()).map(({ id, cold }) => `${id} ${cold ? 'cold' : 'hot'}`).toSorted()).toEqual([
    'a hot',
    'b cold',
  ]);
  expect(await restore(stage)).toMatchObject({ restored: 1, skipped: 0 });
  await stage.orders.items.upsert({ ...resource, cents: 2 });
  expect((await stage.changes()).find(({ id }) => id === 'a')).not.toHaveProperty('restored');
  expect(await stage.sweep()).toMatchObject({ archived: 1, removed: 1 });
});

test('documents are chosen by period and tenant', async () => {
  const stage = await archiveStage();
  await stage.orders.items.create(order('may'));
  await stage.orders.items.create(order('june', { date: '2000-06-01' }));
  await stage.orders.items.create(order('other', { tenant: 'u v' }));
  await stage.sweep();
  expect(await restore(stage, { tenant: 'nobody' })).toMatchObject({ restored: 0, skipped: 0 });
  expect(await restore(stage, { tenant: 'u v', from: '2000-05', to: '2000' })).toMatchObject({ restored: 1 });
  expect(await restore(stage, { from: '2000-06' })).toMatchObject({ restored: 1 });
  expect(await stage.hot()).toEqual(['june', 'other']);
});

test('a restore that reads a stale entry brings nothing back that was deleted since', async () => {
  const stage = await archiveStage();
  await stage.orders.items.create(order('a'));
  await stage.sweep();
  const stale = await entriesAsRead(stage, 'a');
  await stage.orders.items.upsert(order('a', { deletedAt: 'now' }));
  await stage.live();
  await stage.orders.item('a', 't').delete();
  const access = stage.access();
  let lagging = 3;
  const behind: DocumentAccess = {
    ...bound(access),
    read: async (container, key, ids, how) =>
      container === 'millrace' && !how?.current && lagging-- > 0 ? [stale] : access.read(container, key, ids, how),
  };
  expect(await restore(stage, { documents: [{ key: ['t'], id: 'a' }] }, behind)).toMatchObject({
    restored: 0,
    skipped: 1,
  });
  expect(await stage.hot()).toEqual([]);
});

test('a placeholder that a crashed restore left is taken over; no reader takes it for a document', async () => {
  const stage = await archiveStage();
  await stage.orders.items.create(order('a'));
  await stage.sweep();
  await stage.orders.items.create({ id: 'a', tenant: 't', type: RESTORING, ttl: 300 });
  expect(await stage.changes()).toEqual([]);
  expect(await stage.history()).toMatchObject([{ id: 'a', cold: true }]);
  expect(await restore(stage)).toMatchObject({ restored: 1 });
  expect(await stage.history()).toMatchObject([{ id: 'a', cold: false, restored: true }]);
});

test('what comes back between the reading of the container and that of the archive is told all the same', async () => {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  await stage.orders.items.create(order('a'));
  await stage.orders.items.create(order('b'));
  await stage.sweep();
  const moving: BlobStore = {
    read: (name) => store.read(name),
    put: (...of) => store.put(...of),
    list: async function* (prefix) {
      await restore(stage);
      await stage.live();
      yield* store.list(prefix);
    },
  };
  const told = (await stage.history(moving)).map(({ id, cold }) => `${id} ${cold ? 'cold' : 'hot'}`);
  expect(told.toSorted()).toEqual(['a hot', 'b hot']);
});

test('hosts that list blobs in one manifest lose none of them', async () => {
  const store = new MemoryBlobStore();
  const period = { projection: 'cold@1', tenant: 't', period: '2000-05' };
  const record = (name: string) => ({ name, sha256: 'x', bytes: 1, documents: 1, from: 0, to: 0 });
  let reads = 0;
  const overtaken: BlobStore = {
    list: (prefix) => store.list(prefix),
    put: (...of) => store.put(...of),
    read: async (name) => {
      const stored = await store.read(name);
      if (reads++ === 0) await enlist(store, period, SPEC.from, record('other'));
      return stored;
    },
  };
  await enlist(store, period, SPEC.from, record('first'));
  await enlist(overtaken, period, SPEC.from, record('own'));
  await enlist(store, period, SPEC.from, record('first'));
  const manifest = await readManifest(store, 'cold@1/t/2000/05/manifest.json');
  expect(manifest?.blobs.map(({ name }) => name)).toEqual(['first', 'other', 'own']);
});

/** The state document itself, as a lagging replica would give it. */
async function entriesAsRead(stage: ArchiveStage, id: string) {
  const container = stage.database.container('millrace');
  const { resources } = await container.items
    .query<NonNullable<Awaited<ReturnType<DocumentAccess['read']>>[0]>>({
      query: 'SELECT * FROM c WHERE c.source.id = @id',
      parameters: [{ name: '@id', value: id }],
    })
    .fetchAll();
  return resources[0];
}

function never(): never {
  throw new Error('There is no such change');
}
