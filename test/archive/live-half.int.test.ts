// What the live half of an archive does when a read of an entry is old, or a sweeper comes late.
import { expect, it, vi } from 'vitest';
import { archiveAgain } from '../../src/archive/sweep/re-archive.ts';
import { restoreArchive } from '../../src/archive/restore.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import { RESTORING } from '../../src/feed/reading/mapper.ts';
import { Entries } from '../../src/kinds/archive/entries.ts';
import { liveHalf } from '../../src/kinds/archive/live-half.ts';
import type { DocumentAccess, SinkDocument } from '../../src/access/document-access.ts';
import { MemoryBlobStore } from './memory-blob-store.ts';
import { type ArchiveStage, SIGNAL, SPEC, archiveStage, order } from './stage.ts';

const STATE = 'millrace';
const A = { container: 'Orders', key: ['t'], id: 'a' };

interface Versions extends ArchiveStage {
  /** The changes since the last call, after the live half; `access`: by which it reads and writes entries. */
  next(access?: DocumentAccess): Promise<readonly Change[]>;
  /** All changes again. */
  again(): Promise<readonly Change[]>;
  entry(): Promise<string | undefined>;
}

async function versions(): Promise<Versions> {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store, 'all-versions');
  const again = archiveAgain(async () => store);
  const sift = liveHalf({ specs: [SPEC], stateContainer: STATE, defaultTtl: -1, again });
  let seen = 0;
  return {
    ...stage,
    next: async (access = stage.access()) => {
      const all = await stage.changes();
      const page = all.slice(seen);
      seen = all.length;
      return sift(page, access);
    },
    again: async () => sift(await stage.changes(), stage.access()),
    entry: async () => (await new Entries(STATE).read([A], stage.access()))[0]?.state,
  };
}

/** One read of the state, by default the first, shows what another read has shown before. */
function lagging(access: DocumentAccess, shown: readonly (SinkDocument | undefined)[], which = 1): DocumentAccess {
  let reads = 0;
  return {
    fence: access.fence,
    query: (...of) => access.query(...of),
    commit: (...of) => access.commit(...of),
    read: async (container, key, ids) => {
      if (container !== STATE || (reads += 1) !== which) return access.read(container, key, ids);
      return [...shown];
    },
  };
}

/** What the state has of the document, as the live half reads it. */
async function stored(stage: Versions): Promise<readonly (SinkDocument | undefined)[]> {
  let shown: readonly (SinkDocument | undefined)[] = [];
  const access = stage.access();
  await new Entries(STATE).read([A], {
    fence: access.fence,
    query: (...of) => access.query(...of),
    commit: (...of) => access.commit(...of),
    read: async (...of) => (shown = await access.read(...of)),
  });
  return shown;
}

const operations = (changes: readonly Change[]) => changes.map(({ operation }) => operation);
const mortal = order('a', { cents: 2, ttl: 60 });

async function left(): Promise<Versions> {
  const stage = await versions();
  await stage.orders.items.create(order('a'));
  expect(operations(await stage.next())).toEqual(['create']);
  expect(await stage.sweep()).toMatchObject({ removed: 1 });
  return stage;
}

it('an expiry is the application’s, although a lagging replica still says that the document is archived', async () => {
  const stage = await left();
  expect(await stage.next()).toEqual([]);
  const old = await stored(stage);
  await stage.orders.items.upsert(mortal);
  expect(operations(await stage.next())).toEqual(['replace']);
  expect(await stage.entry()).toBe('void');
  stage.emulator.expire('d/Orders', 'a');
  expect(operations(await stage.next(lagging(stage.access(), old)))).toEqual(['expired']);
  expect(await stage.entry()).toBe('void');
});

it('an expiry is the application’s too if its version was read while a lagging replica had no entry yet', async () => {
  const stage = await left();
  expect(await stage.next()).toEqual([]);
  await stage.orders.items.upsert(mortal);
  expect(operations(await stage.next(lagging(stage.access(), [undefined])))).toEqual(['replace']);
  stage.emulator.expire('d/Orders', 'a');
  expect(operations(await stage.next())).toEqual(['expired']);
  expect(await stage.entry()).toBe('void');
});

it('a sweeper that comes late doesn’t archive the version before one that may expire', async () => {
  const stage = await versions();
  await stage.orders.items.create(order('a'));
  await stage.next();
  const access = stage.access();
  let between = async (): Promise<void> => {
    between = async () => undefined;
    await stage.orders.items.upsert(mortal);
    expect(operations(await stage.next())).toEqual(['replace']);
  };
  const late: DocumentAccess = {
    fence: access.fence,
    query: (...of) => access.query(...of),
    read: (...of) => access.read(...of),
    commit: async (...of) => {
      await between();
      return access.commit(...of);
    },
  };
  expect(await stage.sweep({}, { access: () => late })).toMatchObject({ archived: 0, removed: 0, superseded: 1 });
  stage.emulator.expire('d/Orders', 'a');
  expect(operations(await stage.next())).toEqual(['expired']);
  expect(await stage.history()).toEqual([]);
});

it('the archive’s marks and expiries stay its own when they are read again, however often the document came back', async () => {
  const stage = await left();
  for (const cents of [2, 3]) {
    stage.emulator.expire('d/Orders', 'a');
    await stage.orders.items.create(order('a', { cents }));
    expect(operations(await stage.next())).toEqual(['create']);
    expect(await stage.sweep()).toMatchObject({ archived: 1, removed: 1 });
  }
  stage.emulator.expire('d/Orders', 'a');
  expect(await stage.next()).toEqual([]);
  expect(operations(await stage.again())).toEqual(['create', 'create', 'create']);
});

it('a restore removes no placeholder because a lagging replica doesn’t say yet that the document is archived', async () => {
  const stage = await left();
  expect(await stage.next()).toEqual([]);
  await stage.orders.items.upsert(order('a', { cents: 2 }));
  await stage.next();
  const old = await stored(stage);
  expect(await stage.sweep()).toMatchObject({ archived: 1, removed: 1 });
  stage.emulator.expire('d/Orders', 'a');
  expect(await stage.next()).toEqual([]);
  const access = lagging(stage.access(), old, 2);
  const archive = { ...stage.archive, access: () => access };
  const restoring = restoreArchive(archive, { documents: [A] }, { signal: SIGNAL });
  await vi.waitUntil(async () => (await stage.changes()).at(-1)?.type === RESTORING, 30_000);
  expect(operations(await stage.next())).toEqual([]);
  expect(await restoring).toMatchObject({ restored: 1 });
  expect(operations(await stage.next())).toEqual(['replace']);
  expect(await stage.history()).toMatchObject([{ doc: { cents: 2 }, cold: false }]);
});
