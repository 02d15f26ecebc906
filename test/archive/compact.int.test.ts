// A compaction of small blobs, step by step: ARC-H30 to ARC-H32.
import { expect, it } from 'vitest';
import { type CompactOptions, type CompactResult, compactArchive } from '../../src/archive/compact.ts';
import { restoreArchive } from '../../src/archive/restore.ts';
import { statsOf } from '../../src/archive/stats.ts';
import { verifyArchive } from '../../src/archive/verify.ts';
import { MemoryBlobStore } from './memory-blob-store.ts';
import { type ArchiveStage, SIGNAL, archiveStage, order } from './stage.ts';

const IDS = ['a', 'b', 'c', 'd'];

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

it('joins the small blobs of a month into one, and everything reads it', async () => {
  const here = await scene();
  expect(here.blobs()).toHaveLength(4);
  expect(await here.compact({ dryRun: true })).toMatchObject({ joined: 4, written: 0, removed: 0 });
  expect(here.blobs()).toHaveLength(4);
  expect(await here.compact()).toMatchObject({ joined: 4, written: 1, removed: 4, left: 0, held: 0, faults: [] });
  expect(here.blobs()).toHaveLength(1);
  await sound(here);
  expect(await statsOf(here.stage.archive, { sample: 1, signal: SIGNAL })).toMatchObject({ blobs: 1, archived: 4 });
  expect(await here.compact()).toMatchObject({ joined: 0, written: 0, removed: 0 });
  expect(await restoreArchive(here.stage.archive, {}, { signal: SIGNAL })).toMatchObject({ restored: 4 });
});

it('leaves out lines of older versions', async () => {
  const here = await scene();
  await here.stage.orders.items.upsert(order('a', { cents: 2 }));
  await here.stage.sweep();
  expect(here.blobs()).toHaveLength(5);
  expect(await here.compact()).toMatchObject({ joined: 5, written: 1, dropped: 1, removed: 5 });
  await sound(here);
});

it('does not join a blob under a hold, and names one that the store refuses to remove', async () => {
  const here = await scene();
  const [first = '', second = ''] = here.blobs();
  here.store.held.add(second);
  expect(await here.compact({ isHeld: async (name) => name === first })).toMatchObject({
    joined: 3,
    removed: 2,
    held: 2,
  });
  expect(here.blobs()).toEqual(expect.arrayContaining([first, second]));
  await sound(here);
});

it('may be stopped at any request and run again', async () => {
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
    expect(stopped || !(ended instanceof Error), String(ended)).toBe(true);
    await sound(here);
    await here.compact();
    expect(here.blobs()).toHaveLength(1);
    await sound(here);
  }
});

it('two at once lose nothing', async () => {
  const here = await scene();
  await Promise.all([here.compact(), here.compact()]);
  await sound(here);
  await here.compact();
  expect(here.blobs()).toHaveLength(1);
  await sound(here);
});

it('a blob that an entry names again after the wait is listed again and stays', async () => {
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

it('leaves the blobs of a tenant that is erased', async () => {
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
