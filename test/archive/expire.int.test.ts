// The rule `keep`, step by step: ARC-H45 to ARC-H47.
import { expect, it } from 'vitest';
import { type ExpireOptions, type ExpireResult, expireArchive, isOver } from '../../src/archive/expire.ts';
import { Holds, holdBlobs, releaseBlobs } from '../../src/archive/holds.ts';
import { manifestBeside } from '../../src/archive/blobs/layout.ts';
import { delist } from '../../src/archive/blobs/manifests.ts';
import { restoreArchive } from '../../src/archive/restore.ts';
import { verifyArchive } from '../../src/archive/verify.ts';
import { WRITE_GRACE_MS } from '../../src/base/bounds.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Archive } from '../../src/archive/types.ts';
import type { DocumentAccess } from '../../src/access/document-access.ts';
import { MemoryBlobStore } from './memory-blob-store.ts';
import { type ArchiveStage, NOW, SIGNAL, SPEC, archiveStage, order } from './stage.ts';

const DAY = 86_400_000;
const KEEP = { ...SPEC, keep: { ms: 880 * DAY, text: '880d' } };
const LATER = NOW + WRITE_GRACE_MS;

interface Scene {
  readonly store: MemoryBlobStore;
  readonly stage: ArchiveStage;
  expire(options?: Partial<ExpireOptions>, more?: Partial<Archive>, store?: MemoryBlobStore): Promise<ExpireResult>;
  blobs(): string[];
  cold(): Promise<string[]>;
}

/** Documents `old`, whose month is over, and `late`, whose month isn't. */
async function scene(): Promise<Scene> {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  for (const id of ['old-1', 'old-2']) await stage.orders.items.upsert(order(id));
  await stage.orders.items.upsert(order('late', { date: '2000-12-31' }));
  await stage.sweep();
  return {
    store,
    stage,
    expire: (options = {}, more = {}, by = store) =>
      expireArchive({ ...stage.archive, spec: KEEP, ...more, store: by }, { now: NOW, signal: SIGNAL, ...options }),
    blobs: () => [...store.blobs.keys()].filter((name) => name.endsWith('.gz')),
    cold: async () => (await stage.history()).map(({ id }) => id).toSorted(),
  };
}

const sound = async ({ stage }: Scene): Promise<void> => {
  expect((await verifyArchive(stage.archive, { signal: SIGNAL })).faults).toEqual([]);
};

it.each([
  ['2000-12', '2003-05-30T23:59:59Z', false],
  ['2000-12', '2003-05-31T00:00:00Z', true],
  ['2000-01', '2002-06-30T00:00:00Z', true],
])('the month %s is over at %s: %s', (period, now, over) => {
  expect(isOver({ period }, KEEP, Date.parse(now))).toBe(over);
  expect(isOver({ period }, SPEC, Date.parse(now))).toBe(false);
});

it('an expiry deletes the documents of a month that is over, and their blobs a grace later', async () => {
  const here = await scene();
  expect(await here.expire({ dryRun: true })).toMatchObject({ documents: 2, waiting: 1, removed: 0 });
  expect(await here.cold()).toEqual(['late', 'old-1', 'old-2']);
  expect(await here.expire()).toMatchObject({ documents: 2, waiting: 1, removed: 0, left: 0, faults: [] });
  expect(await here.cold()).toEqual(['late']);
  expect(here.blobs()).toHaveLength(2);
  await sound(here);
  expect(await here.expire({ now: LATER - 1 })).toMatchObject({ documents: 0, waiting: 1, removed: 0 });
  expect(await here.expire({ now: LATER, dryRun: true })).toMatchObject({ removed: 1 });
  expect(await here.expire({ now: LATER })).toMatchObject({ documents: 0, waiting: 0, removed: 1, faults: [] });
  expect(here.blobs()).toHaveLength(1);
  await sound(here);
  expect(await restoreArchive(here.stage.archive, {}, { signal: SIGNAL })).toMatchObject({ restored: 1, skipped: 0 });
});

it('without the rule nothing goes', async () => {
  const here = await scene();
  expect(await here.expire({ now: LATER }, { spec: SPEC })).toMatchObject({ documents: 0, waiting: 0 });
  expect(await here.cold()).toHaveLength(3);
});

it('a hold wins, and its release lets the next run go on', async () => {
  const here = await scene();
  const holds = new Holds(here.stage.database.container('millrace'));
  await holds.add({ tenant: 't', reason: 'a case', actor: 'test', at: '2026-01-01T00:00:00.000Z' });
  expect(await here.expire({}, { holds })).toMatchObject({ documents: 0, held: 1 });
  expect(await here.cold()).toHaveLength(3);
  await holds.remove('t');
  await here.expire({}, { holds });
  // A hold that comes between the two runs.
  await holdBlobs(here.store, 't', { settleMs: 0, clock: systemClock, signal: SIGNAL });
  expect(await here.expire({ now: LATER }, { holds })).toMatchObject({ removed: 0, held: 1 });
  await sound(here);
  await releaseBlobs(here.store, 't', SIGNAL);
  // It isn't listed any more, so it waits once more.
  expect(await here.expire({ now: LATER }, { holds })).toMatchObject({ waiting: 1, held: 0 });
  expect(await here.expire({ now: LATER + WRITE_GRACE_MS }, { holds })).toMatchObject({ removed: 1 });
  await sound(here);
});

it('a document that a cut-off sweep has not removed keeps its blob until the next sweep', async () => {
  const here = await scene();
  const { stage } = here;
  await stage.orders.items.upsert(order('cut'));
  const dying = (): DocumentAccess => {
    const inner = stage.access();
    return {
      fence: inner.fence,
      read: (...of) => inner.read(...of),
      query: (...of) => inner.query(...of),
      commit: async (...of) => {
        if (of[0] === 'Orders') throw new Error('cut off');
        return inner.commit(...of);
      },
    };
  };
  await expect(stage.sweep({}, { access: dying })).rejects.toThrow('cut off');
  expect(await stage.hot()).toEqual(['cut']);
  expect(await here.expire()).toMatchObject({ documents: 2, waiting: 1, left: 1 });
  await stage.sweep();
  expect(await here.expire()).toMatchObject({ documents: 1, left: 0 });
  expect(await stage.hot()).toEqual([]);
  await sound(here);
});

it('a sweeper that comes late brings back no older version, and removes no blob that it needs', async () => {
  const here = await scene();
  const { stage } = here;
  await stage.orders.items.upsert(order('old-1', { cents: 2 }));
  let between = false;
  // It has read the version with 2 cents, and the gate is asked before it writes.
  const late = stage.sweep({
    gate: async () => {
      if (!between) {
        between = true;
        await stage.orders.items.upsert(order('old-1', { cents: 3 }));
        await stage.sweep();
        await here.expire();
      }
      return { acknowledged: () => Number.MAX_SAFE_INTEGER, parked: () => false, waits: () => false };
    },
  });
  expect(await late).toMatchObject({ archived: 0 });
  expect(await here.cold()).toEqual(['late']);
  await here.expire();
  await here.expire({ now: LATER });
  await here.expire({ now: LATER + WRITE_GRACE_MS });
  expect((await here.cold()).filter((id) => id !== 'late')).toEqual([]);
  await sound(here);
});

it('a blob that no manifest lists goes too, and an entry that names a blob again keeps it', async () => {
  const here = await scene();
  const [name = ''] = here.blobs().filter((of) => of.includes('2000/05'));
  await delist(here.store, manifestBeside(name), [name]);
  expect(await here.expire()).toMatchObject({ documents: 2, waiting: 1 });
  const entries = here.stage.database.container('millrace').items;
  const { resources } = await entries.query<{ id: string }>("SELECT * FROM c WHERE c.state = 'void'").fetchAll();
  expect(resources).toHaveLength(2);
  await entries.upsert({ ...resources[0], state: 'archived', blob: { name, line: 0 } });
  expect(await here.expire({ now: LATER })).toMatchObject({ documents: 1, waiting: 1, removed: 0 });
  expect(await here.expire({ now: LATER + WRITE_GRACE_MS })).toMatchObject({ removed: 1 });
  await sound(here);
});

it('a damaged blob is named, stays and hides no other', async () => {
  const here = await scene();
  await here.stage.orders.items.upsert(order('old-3', { date: '2000-04-01' }));
  await here.stage.sweep();
  const [name = ''] = here.blobs().filter((of) => of.includes('2000/04'));
  here.store.blobs.set(name, { bytes: Buffer.from('other'), etag: '"x"' });
  expect(await here.expire()).toMatchObject({ documents: 2, faults: [{ code: 'blob-changed', blob: name }] });
  expect(here.blobs()).toContain(name);
});

it('an expiry stops when its time is up, and the next run goes on', async () => {
  const here = await scene();
  expect(await here.expire({ withinMs: 0 })).toMatchObject({ complete: false, documents: 0 });
  expect(await here.expire()).toMatchObject({ complete: true, documents: 2 });
});

it('an expiry may be stopped at any request and run again', async () => {
  for (let at = 0, stopped = true; stopped; at += 1) {
    const here = await scene();
    let left = at;
    const point = (): void => {
      if (left-- <= 0) throw new Error('stopped');
    };
    const dying = Object.assign(Object.create(here.store) as MemoryBlobStore, {
      read: async (name: string) => {
        point();
        return here.store.read(name);
      },
      put: async (...of: Parameters<MemoryBlobStore['put']>) => {
        point();
        const done = await here.store.put(...of);
        point();
        return done;
      },
      remove: async (name: string) => {
        point();
        return here.store.remove(name);
      },
      list: (prefix: string) => here.store.list(prefix),
    });
    const access = (): DocumentAccess => {
      const inner = here.stage.access();
      return {
        fence: inner.fence,
        read: (...of) => inner.read(...of),
        query: (...of) => inner.query(...of),
        commit: async (...of) => {
          point();
          return inner.commit(...of);
        },
      };
    };
    stopped = false;
    for (const now of [NOW, LATER]) {
      const ended = await here.expire({ now }, { access }, dying).catch((error: unknown) => error);
      if (ended instanceof Error && ended.message !== 'stopped') throw ended;
      stopped ||= ended instanceof Error;
      await sound(here);
    }
    await here.expire({ now: LATER });
    await here.expire({ now: LATER + WRITE_GRACE_MS });
    await here.expire({ now: LATER + 2 * WRITE_GRACE_MS });
    expect(here.blobs()).toHaveLength(1);
    expect(await here.cold()).toEqual(['late']);
    await sound(here);
  }
}, 60_000);
