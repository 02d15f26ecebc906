// A compaction of small blobs, step by step: ARC-H30 to ARC-H32.
import { expect, it } from 'vitest';
import { BlobOffline } from '../../src/archive/blobs/blob-offline.ts';
import { type CompactOptions, type CompactResult, compactArchive } from '../../src/archive/compact.ts';
import { Holds, holdBlobs, releaseBlobs } from '../../src/archive/holds.ts';
import { manifestBeside } from '../../src/archive/blobs/layout.ts';
import { delist } from '../../src/archive/blobs/manifests.ts';
import { restoreArchive } from '../../src/archive/restore.ts';
import { verifyArchive } from '../../src/archive/verify.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { DocumentAccess } from '../../src/access/document-access.ts';
import { MemoryBlobStore } from './memory-blob-store.ts';
import { type ArchiveStage, SIGNAL, archiveStage, order } from './stage.ts';

const IDS = ['a', 'b', 'c', 'd'];

const HOLD = { tenant: 't', reason: 'a case', actor: 'test', at: '2026-01-01T00:00:00.000Z' };

interface Scene {
  readonly store: MemoryBlobStore;
  readonly stage: ArchiveStage;
  compact(options?: Partial<CompactOptions>, store?: MemoryBlobStore): Promise<CompactResult>;
  blobs(): string[];
}

/** A blob for each document. */
async function scene(): Promise<Scene> {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  for (const id of IDS) {
    await stage.orders.items.upsert(order(id));
    await stage.sweep();
  }
  return {
    store,
    stage,
    compact: (options = {}, by = store) =>
      compactArchive({ ...stage.archive, store: by }, { signal: SIGNAL, grace: async () => undefined, ...options }),
    blobs: () => [...store.blobs.keys()].filter((name) => name.endsWith('.gz')),
  };
}

const sound = async ({ stage }: Scene): Promise<void> => {
  const { faults, archived } = await verifyArchive(stage.archive, { signal: SIGNAL });
  expect(faults).toEqual([]);
  expect(archived).toBe(IDS.length);
  expect((await stage.history()).map(({ id }) => id).toSorted()).toEqual(IDS);
};

it('a compaction joins the small blobs of a month into one, and everything reads it', async () => {
  const here = await scene();
  expect(here.blobs()).toHaveLength(4);
  expect(await here.compact({ dryRun: true })).toMatchObject({ joined: 4, written: 0, removed: 0 });
  expect(here.blobs()).toHaveLength(4);
  expect(await here.compact()).toMatchObject({ joined: 4, written: 1, removed: 4, left: 0, held: 0, faults: [] });
  expect(here.blobs()).toHaveLength(1);
  await sound(here);
  expect(await verifyArchive(here.stage.archive, { signal: SIGNAL })).toMatchObject({ blobs: 1, archived: 4 });
  expect(await here.compact()).toMatchObject({ joined: 0, written: 0, removed: 0 });
  expect(await restoreArchive(here.stage.archive, {}, { signal: SIGNAL })).toMatchObject({ restored: 4 });
});

it('a compaction passes over a blob in the Archive tier, and joins it when it is back', async () => {
  const here = await scene();
  const [offline = ''] = here.blobs();
  const read = here.store.read.bind(here.store);
  here.store.read = async (name) => {
    if (name === offline) throw new BlobOffline(name, 'test');
    return read(name);
  };
  expect(await here.compact()).toMatchObject({ joined: 3, written: 1, removed: 3, faults: [] });
  expect(here.blobs()).toHaveLength(2);
  here.store.read = read;
  expect(await here.compact()).toMatchObject({ joined: 2, written: 1, removed: 2 });
  await sound(here);
});

it('a compaction leaves out lines of older versions', async () => {
  const here = await scene();
  await here.stage.orders.items.upsert(order('a', { cents: 2 }));
  await here.stage.sweep();
  expect(here.blobs()).toHaveLength(5);
  expect(await here.compact()).toMatchObject({ joined: 5, written: 1, dropped: 1, removed: 5 });
  await sound(here);
});

it('a compaction counts a blob that the store refuses to remove, each time', async () => {
  const here = await scene();
  const [first = ''] = here.blobs();
  here.store.held.add(first);
  expect(await here.compact()).toMatchObject({ joined: 4, removed: 3, held: 1, faults: [] });
  expect(here.blobs()).toContain(first);
  await sound(here);
  expect(await here.compact()).toMatchObject({ joined: 0, removed: 0, held: 1, faults: [] });
  await sound(here);
});

it('a compaction passes over the blobs of a tenant under a hold', async () => {
  const here = await scene();
  const { archive, database } = here.stage;
  const holds = new Holds(database.container('millrace'));
  await holds.add(HOLD);
  await holdBlobs(here.store, 't', { settleMs: 0, clock: systemClock, signal: SIGNAL });
  const options = { signal: SIGNAL, grace: async () => undefined };
  const compact = () => compactArchive({ ...archive, store: here.store, holds }, options);
  expect(await compact()).toMatchObject({ joined: 0, written: 0, removed: 0, held: 4, faults: [] });
  expect(here.blobs()).toHaveLength(4);
  await sound(here);
  // Once it is released, it joins them.
  await releaseBlobs(here.store, 't', SIGNAL);
  await holds.remove('t');
  expect(await compact()).toMatchObject({ joined: 4, written: 1, removed: 4, held: 0 });
  await sound(here);
});

it('a hold that comes meanwhile holds the new blob before an entry names it, and the old ones stay', async () => {
  const here = await scene();
  const { archive, database } = here.stage;
  const state = database.container('millrace');
  await new Holds(state).add(HOLD);
  await holdBlobs(here.store, 't', { settleMs: 0, clock: systemClock, signal: SIGNAL });
  const options = { signal: SIGNAL, grace: async () => undefined };
  const compact = (holds: Holds) => compactArchive({ ...archive, store: here.store, holds }, options);
  const late = new Holds(state);
  const read = late.of.bind(late);
  let reads = 0;
  late.of = async (tenant) => ((reads += 1) === 1 ? undefined : read(tenant));
  expect(await compact(late)).toMatchObject({ joined: 4, written: 1, removed: 0, held: 4, faults: [] });
  expect(here.blobs()).toHaveLength(5);
  expect(here.blobs().filter((name) => !here.store.held.has(name))).toEqual([]);
  await sound(here);
  // Once it is released, the old ones go.
  await releaseBlobs(here.store, 't', SIGNAL);
  await new Holds(state).remove('t');
  expect(await compact(new Holds(state))).toMatchObject({ removed: 4, held: 0 });
  await sound(here);
});

it('a document that changed and was archived again before its entry is renamed keeps its newer line', async () => {
  const here = await scene();
  const { archive, orders } = here.stage;
  let changed = false;
  const slow = (): DocumentAccess => {
    const inner = here.stage.access();
    return {
      fence: inner.fence,
      read: (...of) => inner.read(...of),
      query: (...of) => inner.query(...of),
      commit: async (...of) => {
        if (!changed) {
          changed = true;
          await orders.items.upsert(order('a', { cents: 2 }));
          await here.stage.sweep();
        }
        return inner.commit(...of);
      },
    };
  };
  const options = { signal: SIGNAL, grace: async () => undefined };
  expect(await compactArchive({ ...archive, store: here.store, access: slow }, options)).toMatchObject({ removed: 4 });
  expect(changed).toBe(true);
  await sound(here);
  expect((await here.stage.history()).find(({ id }) => id === 'a')?.doc).toMatchObject({ cents: 2 });
});

it('a blob that is gone while entries name it is damage to every reader, listed or not', async () => {
  const here = await scene();
  const [first = ''] = here.blobs();
  const gone = Object.assign(Object.create(here.store) as MemoryBlobStore, {
    read: async (name: string) => {
      const found = await here.store.read(name);
      if (name === first && found) await delist(here.store, manifestBeside(first), [first]);
      if (name === first) return undefined;
      return found;
    },
    list: (prefix: string) => here.store.list(prefix),
  });
  const archive = { ...here.stage.archive, store: gone };
  await expect(here.stage.history(gone)).rejects.toMatchObject({ code: 'archive-damaged' });
  const { faults } = await verifyArchive(archive, { signal: SIGNAL });
  expect(faults.map(({ code }) => code)).toContain('blob-missing');
});

it('a compaction may be stopped at any request and run again', async () => {
  for (let at = 0, stopped = true; stopped; at += 4) {
    const here = await scene();
    let left = at;
    const dying = Object.assign(Object.create(here.store) as MemoryBlobStore, {
      read: async (name: string) => {
        if (left-- <= 0) throw new Error('stopped');
        return here.store.read(name);
      },
      put: async (...of: Parameters<MemoryBlobStore['put']>) => {
        if (left-- === 0) throw new Error('stopped');
        const done = await here.store.put(...of);
        if (left-- === 0) throw new Error('stopped');
        return done;
      },
      remove: async (name: string) => {
        if (left-- === 0) throw new Error('stopped');
        return here.store.remove(name);
      },
      list: (prefix: string) => here.store.list(prefix),
    });
    const ended = await here.compact({}, dying).catch((error: unknown) => error);
    stopped = ended instanceof Error && ended.message === 'stopped';
    if (!stopped && ended instanceof Error) throw ended;
    await sound(here);
    await here.compact();
    expect(here.blobs()).toHaveLength(1);
    await sound(here);
  }
});

it('two compactions at once lose nothing', async () => {
  const here = await scene();
  await Promise.all([here.compact(), here.compact()]);
  await sound(here);
  await here.compact();
  expect(here.blobs()).toHaveLength(1);
  await sound(here);
});

it('a blob that an entry names again after the wait stays', async () => {
  const here = await scene();
  const [first = ''] = here.blobs();
  const entries = here.stage.database.container('millrace').items;
  const { resources } = await entries
    .query<{ id: string }>({
      query: 'SELECT * FROM c WHERE c.blob.name = @first',
      parameters: [{ name: '@first', value: first }],
    })
    .fetchAll();
  const grace = async (): Promise<void> => {
    for (const entry of resources) await entries.upsert(entry);
  };
  expect(await here.compact({ grace })).toMatchObject({ joined: 4, removed: 3, left: 1 });
  expect(here.blobs()).toContain(first);
  await sound(here);
});

it('a reader that knows an older manifest finds every document', async () => {
  const here = await scene();
  const { store } = here;
  const [first = ''] = here.blobs();
  let compacted = false;
  const moving = Object.assign(Object.create(store) as MemoryBlobStore, {
    read: async (name: string) => {
      if (name === first && !compacted) {
        compacted = true;
        await here.compact();
      }
      return store.read(name);
    },
    list: (prefix: string) => store.list(prefix),
  });
  const archive = { ...here.stage.archive, store: moving };
  expect(await restoreArchive(archive, {}, { signal: SIGNAL })).toMatchObject({ restored: 4, skipped: 0 });
  expect(compacted).toBe(true);
});

it('a compaction leaves the blobs of a tenant that is erased', async () => {
  const here = await scene();
  expect(await here.compact({ erased: async () => () => new Date() as never })).toMatchObject({ joined: 0, left: 4 });
});

it('a manifest of a newer format is an error that says so', async () => {
  const here = await scene();
  const [name = ''] = [...here.store.blobs.keys()].filter((of) => of.endsWith('manifest.json'));
  const stored = await here.store.read(name);
  const text = Buffer.from(stored?.bytes ?? []).toString();
  await here.store.put(name, Buffer.from(text.replace('"format": 1', '"format": 9')), stored?.etag ?? '');
  await expect(here.compact()).rejects.toMatchObject({ code: 'format-too-new' });
  expect(here.blobs()).toHaveLength(4);
});
