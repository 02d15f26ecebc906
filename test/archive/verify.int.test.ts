import { expect, test } from 'vitest';
import { pack } from '../../src/archive/blobs/blob.ts';
import type { BlobStore } from '../../src/access/blob-store.ts';
import { BlobOffline } from '../../src/archive/blobs/blob-offline.ts';
import { restoreArchive } from '../../src/archive/restore.ts';
import type { ArchiveFault } from '../../src/archive/types.ts';
import { listArchive, verifyArchive } from '../../src/archive/verify.ts';
import { MemoryBlobStore } from './memory-blob-store.ts';
import { SIGNAL, archiveStage, collect, order } from './stage.ts';

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
  // The other host's upload was cut off; it corrects its blob after the first look, before whatever follows.
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

test.each([
  ['bytes', 'bytes 1 instead of'],
  ['documents', 'documents 1 instead of 2'],
  ['sha256', 'sha256 1 instead of'],
  ['from', 'from 1 instead of'],
])('a manifest that says wrong %s is to blame, not the blob', async (field, why) => {
  const { stage, blob, faults } = await damaged((store) => {
    const { blobs, ...rest } = JSON.parse(Buffer.from(store.blobs.get(MANIFEST)?.bytes ?? []).toString()) as {
      blobs: object[];
    };
    const bytes = Buffer.from(
      JSON.stringify({ ...rest, blobs: [{ ...blobs[0], [field]: field === 'sha256' ? '1' : 1 }] }),
    );
    store.blobs.set(MANIFEST, { bytes, etag: 'x' });
  });
  expect(faults).toEqual([
    { code: 'manifest-wrong', blob: MANIFEST, what: expect.stringContaining(`${blob}: ${why}`) },
  ]);
  expect(await restoreArchive(stage.archive, {}, { signal: SIGNAL })).toMatchObject({ restored: 2, faults: [] });
});

test('a fault names its blob, and a document’s its key and id', async () => {
  const { blob, faults } = await damaged((store, name) => store.blobs.delete(name));
  const what = expect.any(String) as string;
  expect(faults).toEqual([
    { code: 'blob-missing', blob, what },
    { code: 'line-missing', blob, container: 'Orders', key: ['t'], id: 'a', what },
    { code: 'line-missing', blob, container: 'Orders', key: ['t'], id: 'b', what },
  ]);
});

/** Documents of three tenants and two months each, and the manifest of one of them unreadable. */
async function partlyUnreadable() {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  const months = ['2000-05-06', '2000-06-06'];
  for (const tenant of ['t', 'u/v', 'x'])
    for (const [n, date] of months.entries())
      await stage.orders.items.create(order(`${tenant[0]}${n}`, { tenant, date }));
  await stage.sweep();
  store.blobs.set(MANIFEST, { bytes: Buffer.from('{}'), etag: 'x' });
  return { store, stage };
}

test('an unreadable manifest hides no other one of the list', async () => {
  const { stage } = await partlyUnreadable();
  const listed = await collect(listArchive(stage.archive, SIGNAL));
  expect(listed.map(({ place: { tenant, period } }) => `${tenant} ${period}`).toSorted()).toEqual(
    ['t', 'u/v', 'x'].flatMap((tenant) => [`${tenant} 2000-05`, `${tenant} 2000-06`]),
  );
  expect(listed.flatMap((one) => ('fault' in one ? one.fault : []))).toEqual([
    {
      code: 'manifest-unreadable',
      blob: MANIFEST,
      what: expect.stringContaining('it is not a manifest that Millrace wrote'),
    },
  ]);
});

test('what lies elsewhere is restored without a look at it, and the rest where damage is to be skipped', async () => {
  const { stage } = await partlyUnreadable();
  const { archive } = stage;
  expect(await restoreArchive(archive, { tenant: 'u/v' }, { signal: SIGNAL })).toMatchObject({ restored: 2 });
  expect(await restoreArchive(archive, { tenant: 't', from: '2000-06' }, { signal: SIGNAL })).toMatchObject({
    restored: 1,
  });
  await expect(restoreArchive(archive, { tenant: 't' }, { signal: SIGNAL })).rejects.toMatchObject({
    code: 'archive-damaged',
    hint: expect.stringContaining('--skip-damaged'),
  });
  expect(await restoreArchive(archive, {}, { signal: SIGNAL, skipDamaged: true })).toMatchObject({
    restored: 2,
    faults: [{ code: 'manifest-unreadable', blob: MANIFEST }],
  });
  expect(await stage.hot()).toEqual(['t1', 'u0', 'u1', 'x0', 'x1']);
});

/** One document of each of three months, and the blob of June is missing. */
async function withoutJune() {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  for (const date of ['2000-05-06', '2000-06-06', '2000-07-06']) await stage.orders.items.create(order(date, { date }));
  await stage.sweep();
  const blob = [...store.blobs.keys()].find((name) => name.includes('/06/') && name.endsWith('.gz')) ?? '';
  store.blobs.delete(blob);
  return { stage, blob };
}

test('a damaged blob is gone on without, and named, where that is asked for', async () => {
  const { stage, blob } = await withoutJune();
  expect(await restoreArchive(stage.archive, {}, { signal: SIGNAL, skipDamaged: true })).toMatchObject({
    restored: 2,
    faults: [{ code: 'blob-missing', blob }],
  });
  expect(await stage.hot()).toEqual(['2000-05-06', '2000-07-06']);
  const document = { key: ['t'], id: '2000-06-06' };
  expect(
    await restoreArchive(stage.archive, { documents: [document] }, { signal: SIGNAL, skipDamaged: true }),
  ).toMatchObject({
    restored: 0,
    faults: [{ code: 'blob-missing', blob }],
  });
});

test('a damaged blob hides no other one of several named documents', async () => {
  const { stage, blob } = await withoutJune();
  const documents = ['2000-06-06', '2000-05-06'].map((id) => ({ key: ['t'], id }));
  await expect(restoreArchive(stage.archive, { documents }, { signal: SIGNAL })).rejects.toThrow(blob);
  expect(await restoreArchive(stage.archive, { documents }, { signal: SIGNAL, skipDamaged: true })).toMatchObject({
    restored: 1,
    faults: [{ code: 'blob-missing', blob }],
  });
  expect(await stage.hot()).toEqual(['2000-05-06']);
});

test('an unreadable manifest keeps the documents of its month and no others from leaving', async () => {
  const { stage, store } = await partlyUnreadable();
  for (const date of ['2000-05-07', '2000-06-07']) await stage.orders.items.create(order(date, { date }));
  const swept = await stage.sweep();
  expect(swept).toMatchObject({ archived: 1, blocked: 1, faults: [{ code: 'manifest-unreadable', blob: MANIFEST }] });
  expect(await stage.hot()).toEqual(['2000-05-07']);
  // Corrected, here by leaving it out, it all goes.
  store.blobs.delete(MANIFEST);
  expect(await stage.sweep()).toMatchObject({ archived: 1, blocked: 0, faults: [] });
  expect(await stage.hot()).toEqual([]);
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

test('a sample counts what lies in the Archive tier, and judges the rest', async () => {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  for (const tenant of ['t', 'u']) {
    await stage.orders.items.create(order(`of-${tenant}`, { tenant }));
    await stage.sweep();
  }
  const offline: BlobStore = {
    list: (prefix) => store.list(prefix),
    put: (...of) => store.put(...of),
    read: (name) => (name.includes('/t/') ? Promise.reject(new BlobOffline(name, 'test')) : store.read(name)),
  };
  const archive = { ...stage.archive, store: offline };
  expect(await verifyArchive(archive, { signal: SIGNAL, sample: 9 })).toMatchObject({
    blobs: 1,
    sampled: { asked: 9, of: 2, offline: 1 },
    faults: [],
  });
  await expect(verifyArchive(archive, { signal: SIGNAL })).rejects.toMatchObject({ code: 'blob-offline' });
});
