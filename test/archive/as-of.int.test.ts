// A container as of a time, against an oracle that knows only the application's writes and their times. ARC-V1 to ARC-V4.
import { expect, it } from 'vitest';
import { documentsAsOf } from '../../src/archive/as-of.ts';
import { eraseFromArchive } from '../../src/archive/erase.ts';
import { verifyArchive } from '../../src/archive/verify.ts';
import { beginLog, listLog, logBegan, versionLog } from '../../src/archive/version-log.ts';
import type { ArchiveSpec, Doc } from '../../src/definition/specs.ts';
import { systemClock } from '../../src/base/clock.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { MemoryBlobStore } from './memory-blob-store.ts';
import { SIGNAL, SPEC, archiveStage, collect, order } from './stage.ts';

const SEED = suiteSeed();
const LOGGED: ArchiveSpec = { ...SPEC, versionLog: true };

it(`equals the application's writes at every time, however pages are cut and repeated (seed ${SEED})`, async () => {
  for (let history = 0; history < Number(process.env['MILLRACE_HISTORIES'] ?? 3); history++) {
    const random = new Random(SEED + history);
    const store = new MemoryBlobStore();
    const stage = await archiveStage(store, 'all-versions');
    const archive = { ...stage.archive, spec: LOGGED };
    /** The application's writes: null is a deletion. */
    const writes: { id: string; at: number; doc: Doc | null }[] = [];
    const standing = new Set<string>();
    for (let step = 0; step < 40; step++) {
      const id = `d${random.int(4)}`;
      const gone = standing.has(id) && random.chance(0.3);
      const doc = order(id, { cents: random.int(100), tenant: `t${Number(id.slice(1)) % 2}` });
      if (random.chance(0.6)) stage.emulator.advance(1_000 * (1 + random.int(4)));
      if (gone) await stage.orders.item(id, String(doc['tenant'])).delete();
      else await stage.orders.items.upsert(doc);
      if (gone) standing.delete(id);
      else standing.add(id);
      const last = (await stage.changes()).at(-1);
      writes.push({ id, at: last?.at ?? NaN, doc: gone ? null : doc });
    }
    const changes = await stage.changes();
    const log = versionLog(async () => store);
    for (let cut = 0; cut < changes.length;) {
      // Pages come again, cut otherwise.
      const from = Math.max(0, cut - random.int(4));
      cut += 1 + random.int(6);
      await log(LOGGED, changes.slice(from, cut));
    }
    for (const at of [0, ...writes.map((write) => write.at), Number.MAX_SAFE_INTEGER / 2_000]) {
      const wanted = new Map<string, Doc>();
      for (const { id, at: written, doc } of writes)
        if (written <= at && doc) wanted.set(id, doc);
        else if (written <= at) wanted.delete(id);
      for (const tenant of [undefined, 't0']) {
        const found = await collect(documentsAsOf(archive, { at, tenant, signal: SIGNAL }));
        const of = [...wanted.values()].filter((doc) => tenant === undefined || doc['tenant'] === tenant);
        expect(sorted(found.map(({ doc }) => doc))).toEqual(sorted(of));
      }
    }
  }
});

const sorted = (docs: readonly Doc[]): Doc[] => docs.toSorted((a, b) => (String(a['id']) < String(b['id']) ? -1 : 1));

it('the log begins with what is there, hot and cold, and an erasure of a tenant covers it', async () => {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  const archive = { ...stage.archive, spec: LOGGED };
  await stage.orders.items.create(order('a', { tenant: 't0' }));
  await stage.orders.items.create(order('b', { tenant: 't1' }));
  await stage.sweep();
  await stage.orders.items.create(order('c', { tenant: 't0', date: '2002-01-01' }));
  expect(await logBegan(store, LOGGED)).toBeUndefined();
  const history = {
    documents: async function* () {
      yield* await stage.history();
    },
  };
  // A tenant that was erased meanwhile isn't kept.
  const other = new MemoryBlobStore();
  const isErased = async ({ id }: { id: string }): Promise<boolean> => id !== 'b';
  await beginLog(LOGGED, { store: other, history, isErased, signal: SIGNAL });
  const begun = await collect(documentsAsOf({ ...archive, store: other }, { at: Date.now() + 1_000, signal: SIGNAL }));
  expect(begun.map(({ id }) => id)).toEqual(['b']);
  const from = await beginLog(LOGGED, { store, history, signal: SIGNAL });
  expect(await beginLog(LOGGED, { store, history, signal: SIGNAL })).toBe(from);
  const ids = async (): Promise<string[]> =>
    (await collect(documentsAsOf(archive, { at: from, signal: SIGNAL }))).map(({ id }) => id).toSorted();
  expect(await ids()).toEqual(['a', 'b', 'c']);
  // Lines of the log are no archived documents.
  expect((await stage.history()).map(({ id }) => id).toSorted()).toEqual(['a', 'b', 'c']);
  await eraseFromArchive({
    store,
    stateContainer: 'millrace',
    accesses: [stage.access()],
    tenant: 't0',
    owns: (_, doc) => (doc as Doc)['tenant'] === 't0',
    settleMs: 0,
    clock: systemClock,
    signal: SIGNAL,
  });
  expect(await ids()).toEqual(['b']);
});

it('a blob of the log that is gone or altered is named, by verify and instead of an answer', async () => {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store, 'all-versions');
  const archive = { ...stage.archive, spec: LOGGED };
  const log = versionLog(async () => store);
  for (const id of ['a', 'b']) await stage.orders.items.create(order(id, { tenant: `t-${id}` }));
  await log(LOGGED, await stage.changes());
  const at = Date.now() + 1_000;
  const blobs = [...store.blobs.keys()].filter((name) => name.endsWith('.gz'));
  expect(blobs).toHaveLength(2);
  const verify = () => verifyArchive(archive, { signal: SIGNAL });
  const asOf = (tenant?: string) => collect(documentsAsOf(archive, { at, tenant, signal: SIGNAL }));
  expect(await verify()).toMatchObject({
    faults: [],
    blobs: 0,
    log: { from: null, versions: 2, blobs: 2, unlisted: 2 },
  });
  // Its time is up before it has read a blob.
  await listLog(LOGGED, { store, until: 0, signal: SIGNAL });
  expect(await verify()).toMatchObject({ log: { unlisted: 2 } });
  for (let run = 0; run < 2; run++) await listLog(LOGGED, { store, signal: SIGNAL });
  expect(await verify()).toMatchObject({ faults: [], log: { versions: 2, blobs: 2, unlisted: 0 } });
  const [gone = '', altered = ''] = blobs;
  const kept = store.blobs.get(gone);
  store.blobs.delete(gone);
  store.blobs.set(altered, { bytes: Buffer.from('{}'), etag: '"x"' });
  const faults = [
    { code: 'blob-missing', blob: gone },
    { code: 'blob-changed', blob: altered },
  ];
  expect((await verify()).faults.map(({ code, blob }) => ({ code, blob })).toSorted(byCode)).toEqual(
    faults.toSorted(byCode),
  );
  await expect(asOf('t-a')).rejects.toMatchObject({ code: 'archive-damaged', message: expect.stringContaining(gone) });
  await expect(asOf('t-b')).rejects.toMatchObject({
    code: 'archive-damaged',
    message: expect.stringContaining(altered),
  });
  // A page that comes again mends its blobs.
  await log(LOGGED, await stage.changes());
  expect(store.blobs.get(gone)?.bytes).toEqual(kept?.bytes);
  expect((await asOf()).map(({ id }) => id)).toHaveLength(2);
  expect(await verify()).toMatchObject({ faults: [] });
  // What says when the log began, and a manifest, are named too.
  store.blobs.set('log~cold@1/begin.json', { bytes: Buffer.from('{}'), etag: '"x"' });
  const manifest = `${gone.slice(0, gone.lastIndexOf('/'))}/manifest.json`;
  store.blobs.set(manifest, { bytes: Buffer.from('[]'), etag: '"x"' });
  expect((await verify()).faults.map(({ blob }) => blob).toSorted()).toEqual(['log~cold@1/begin.json', manifest]);
  await expect(asOf()).rejects.toMatchObject({ code: 'archive-damaged', message: expect.stringContaining(manifest) });
});

const byCode = (one: { code: string }, other: { code: string }): number => (one.code < other.code ? -1 : 1);
