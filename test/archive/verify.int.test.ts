import { expect, test } from 'vitest';
import { pack } from '../../src/archive/blob.ts';
import type { BlobStore } from '../../src/archive/blob-store.ts';
import { restoreArchive } from '../../src/archive/restore.ts';
import type { ArchiveFault } from '../../src/archive/types.ts';
import { verifyArchive } from '../../src/archive/verify.ts';
import { MemoryBlobStore } from './memory-blob-store.ts';
import { SIGNAL, archiveStage, order } from './stage.ts';

const MANIFEST = 'cold@1/t/2000/05/manifest.json';

/** Two documents in one blob, with which something is done by hand. */
async function damaged(by: (store: MemoryBlobStore, blob: string) => void) {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  await stage.orders.items.create(order('a'));
  await stage.orders.items.create(order('b'));
  await stage.sweep();
  const blob = [...store.blobs.keys()].find((name) => name.endsWith('.gz')) ?? '';
  by(store, blob);
  const { faults } = await verifyArchive(stage.archive, { signal: SIGNAL });
  return { stage, store, blob, faults, codes: codesOf(faults) };
}

const codesOf = (faults: readonly ArchiveFault[]) => faults.map(({ code }) => code).toSorted();

test.each([
  ['deleted', (store: MemoryBlobStore, blob: string) => store.blobs.delete(blob), 'blob-missing'],
  [
    'cut off',
    (store: MemoryBlobStore, blob: string) =>
      store.blobs.set(blob, { bytes: store.blobs.get(blob)?.bytes.subarray(0, 20) ?? Buffer.alloc(0), etag: 'x' }),
    'blob-changed',
  ],
  [
    'written anew by hand',
    (store: MemoryBlobStore, blob: string) =>
      store.blobs.set(blob, { bytes: pack(['{"id":"a","doc":{}}']).bytes, etag: 'x' }),
    'blob-changed',
  ],
])('a blob that was %s is found with its documents, and neither read nor restored', async (_how, by, code) => {
  const { stage, blob, faults, codes } = await damaged(by);
  expect(codes).toEqual([code, 'line-missing', 'line-missing']);
  expect(faults[0]?.what).toContain(blob);
  expect(faults.map(({ what }) => what).join()).toContain('Orders/["t"]/a');
  await expect(stage.history()).rejects.toMatchObject({ code: 'archive-damaged' });
  await expect(restoreArchive(stage.archive, {}, { signal: SIGNAL })).rejects.toMatchObject({
    code: 'archive-damaged',
  });
  expect(await stage.hot()).toEqual([]);
});

test('an upload that was cut off is noticed before anything leaves, and made good', async () => {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  await stage.orders.items.create(order('a'));
  let uploads = 0;
  const tearing: BlobStore = {
    list: (prefix) => store.list(prefix),
    read: (name) => store.read(name),
    put: (name, bytes, ifMatch) =>
      store.put(name, name.endsWith('.gz') && uploads++ === 0 ? bytes.subarray(0, 30) : bytes, ifMatch),
  };
  expect(await stage.sweep({}, { store: tearing })).toMatchObject({ archived: 1, removed: 1 });
  expect(await verifyArchive(stage.archive, { signal: SIGNAL })).toMatchObject({ blobs: 1, archived: 1, faults: [] });
});

test('an upload that another host made good since it was seen is not written again', async () => {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  await stage.orders.items.create(order('a'));
  let seen = 0;
  // The other host's upload was cut off; it mends its blob after the first look, before whatever follows.
  const shared: BlobStore = {
    list: (prefix) => store.list(prefix),
    read: async (name) => {
      const found = await store.read(name);
      if (!name.endsWith('.gz') || !found || (seen += 1) > 1) return found;
      return { bytes: found.bytes.subarray(0, 30), etag: '"before"' };
    },
    put: (...of) => store.put(...of),
  };
  expect(await stage.sweep({}, { store: shared })).toMatchObject({ archived: 1 });
  const blob = [...store.blobs.keys()].find((name) => name.endsWith('.gz')) ?? '';
  expect(store.blobs.get(blob)?.etag, 'the first upload stands').toBe('"1"');
  expect(await verifyArchive(stage.archive, { signal: SIGNAL })).toMatchObject({ faults: [] });
});

test('a store that can’t give back what it was given keeps everything where it is', async () => {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  await stage.orders.items.create(order('a'));
  const broken: BlobStore = {
    list: (prefix) => store.list(prefix),
    read: async (name) => ({ bytes: Buffer.from('?'), etag: (await store.read(name))?.etag ?? '' }),
    put: (...of) => store.put(...of),
  };
  await expect(stage.sweep({}, { store: broken })).rejects.toMatchObject({ code: 'blob-unverified' });
  expect(await stage.hot()).toEqual(['a']);
});

test('a lost manifest is found, and history reads the blob all the same', async () => {
  const { stage, faults } = await damaged((store) => store.blobs.delete(MANIFEST));
  expect(faults).toMatchObject([{ code: 'blob-unlisted' }]);
  expect((await stage.history()).map(({ id }) => id).toSorted()).toEqual(['a', 'b']);
});

test('an unreadable manifest is found', async () => {
  const { codes } = await damaged((store) => store.blobs.set(MANIFEST, { bytes: Buffer.from('{'), etag: 'x' }));
  expect(codes).toEqual(['blob-unlisted', 'manifest-unreadable']);
});

test('blob and manifest gone: their entries tell', async () => {
  const { codes } = await damaged((store) => store.blobs.clear());
  expect(codes).toEqual(['blob-missing', 'line-missing', 'line-missing']);
});

test('an entry that names another line is found', async () => {
  const { stage } = await damaged(() => undefined);
  const state = stage.database.container('millrace');
  const { resources } = await state.items
    .query<{ id: string; blob: { line: number } }>('SELECT * FROM c ORDER BY c.blob.line')
    .fetchAll();
  const [first, second] = resources;
  await state.items.upsert({ ...first, blob: { ...first?.blob, line: 1 } });
  await state.items.upsert({ ...second, blob: { ...second?.blob, line: 7 } });
  const { faults } = await verifyArchive(stage.archive, { signal: SIGNAL });
  expect(codesOf(faults)).toEqual(['line-differs', 'line-missing']);
});

test('a blob that no manifest and no entry names is superfluous and no fault', async () => {
  const { stage, store } = await damaged(() => undefined);
  const { bytes, sha256 } = pack(['{"container":"Orders","key":["t"],"id":"a","version":{},"doc":{}}']);
  store.blobs.set(`cold@1/t/2000/06/${sha256}.jsonl.gz`, { bytes, etag: 'x' });
  expect(await verifyArchive(stage.archive, { signal: SIGNAL })).toMatchObject({
    blobs: 2,
    superfluous: 1,
    faults: [],
  });
  expect(await stage.history()).toHaveLength(2);
});
