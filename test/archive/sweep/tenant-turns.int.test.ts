// Sweeps with a time limit, beside others and within a budget: ARC-H52 to ARC-H54.
import { expect, it } from 'vitest';
import { dueDocuments } from '../../../src/archive/sweep/due-pages.ts';
import { Sweeper } from '../../../src/archive/sweep/sweepers.ts';
import { type TenantValue, Turns, readTurns } from '../../../src/archive/sweep/tenant-turns.ts';
import { Meter } from '../../../src/cosmos/budget/charge-meter.ts';
import { CosmosAccess } from '../../../src/access/cosmos-access.ts';
import { ManualClock } from '../../support/clock.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { MemoryBlobStore } from '../memory-blob-store.ts';
import { type ArchiveStage, NOW, SIGNAL, SPEC, archiveStage, order } from '../stage.ts';

const SEED = suiteSeed();

/** So many due documents of each tenant, in this order. */
async function fill(stage: ArchiveStage, sizes: readonly number[]): Promise<void> {
  for (const [tenant, size] of sizes.entries())
    for (let n = 0; n < size; n++) await stage.orders.items.create(order(`${tenant}-${n}`, { tenant: `t${tenant}` }));
}

it(`no tenant gets more than its turn before all others had theirs, also over slices (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  const sizes = [60, ...Array.from({ length: 6 }, () => 1 + random.int(20))];
  const stage = await archiveStage();
  await fill(stage, sizes);
  const left = new Map(sizes.map((size, tenant) => [`t${tenant}`, size]));
  const length = 8;
  let ended: readonly TenantValue[] = [];
  let slices = 0;
  /** Documents of each tenant since all had their turn. */
  let served = new Map<string, number>();
  for (let taken = -1; taken !== 0; slices++) {
    const turns = new Turns(ended, async () => undefined, length);
    taken = 0;
    let all = false;
    const most = 5 + random.int(20);
    for await (const { key, id } of dueDocuments(stage.archive, {
      now: NOW,
      signal: SIGNAL,
      turns,
      note: () => undefined,
    })) {
      const tenant = key[0] as string;
      const others = [...left].filter(
        ([name, rest]) => name !== tenant && rest > 0 && (served.get(name) ?? 0) < length,
      );
      const count = (served.get(tenant) ?? 0) + 1;
      // Once all had their turn, what is left comes in any order.
      all ||= count > length && others.length === 0;
      expect([tenant, all || count <= length]).toEqual([tenant, true]);
      served.set(tenant, count);
      left.set(tenant, (left.get(tenant) ?? 0) - 1);
      await stage.orders.item(id, tenant).delete();
      if (++taken === most) break;
    }
    // What is left of the turns is the order of the next slice; a tenant in the middle of its turn begins again.
    ended = turns.ended;
    served = new Map(ended.map((name) => [String(name), length]));
  }
  expect(slices).toBeGreaterThan(4);
  expect([...left.values()].every((rest) => rest === 0)).toBe(true);
});

it('one look with turns gives each document once, with one of no tenant', async () => {
  const stage = await archiveStage();
  await fill(stage, [20, 3, 9]);
  await stage.orders.items.create(order('none', { tenant: undefined }));
  const turns = new Turns([], async () => undefined, 4);
  const found: string[] = [];
  const options = { now: NOW, signal: SIGNAL, turns, note: () => undefined };
  // Nothing leaves, as if no projection had acknowledged it.
  for await (const { id } of dueDocuments(stage.archive, options)) found.push(id);
  expect(found).toHaveLength(33);
  expect(new Set(found).size).toBe(33);
  expect(turns.ended).toEqual([]);
});

it('what a slice leaves is stored, and forgotten when each tenant had its turn', async () => {
  const stage = await archiveStage();
  const state = stage.database.container('millrace');
  const turns = await readTurns(state, SPEC);
  turns.end('a');
  turns.end(7);
  await turns.keep();
  const next = await readTurns(state, SPEC);
  expect(next.ended).toEqual(['a', 7]);
  next.clear();
  await next.keep();
  expect((await readTurns(state, SPEC)).ended).toEqual([]);
  const { resources } = await state.items.query('SELECT * FROM c').fetchAll();
  expect(resources).toEqual([]);
  for (let n = 0; n < 150; n++) next.end(n);
  expect([next.ended.length, next.ended[0]]).toEqual([100, 50]);
});

it('sweeps that run together take different keys first, and each what the others leave', async () => {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store);
  await fill(stage, Array<number>(30).fill(2));
  const state = stage.database.container('millrace');
  const clock = new ManualClock();
  const [one, other, ghost] = [1, 2, 3].map(() => new Sweeper(state, SPEC, clock));
  if (!one || !other || !ghost) throw new Error('never');
  await one.look(SIGNAL);
  expect([one.isShared, one.isFirstFor(['t1'])]).toEqual([false, true]);
  // It dies.
  await ghost.look(SIGNAL);
  clock.advance(20_000);
  await other.look(SIGNAL);
  await one.look(SIGNAL);
  const firstFor = (tenant: number): boolean[] => [one, other].map((of) => of.isFirstFor([`t${tenant}`]));
  expect([one.isShared, other.isShared]).toEqual([true, true]);
  // A third of the keys is the ghost's.
  expect(Array.from({ length: 30 }, (_, tenant) => firstFor(tenant)).some((of) => !of.includes(true))).toBe(true);
  const swept = await Promise.all([one, other].map((sweeper) => stage.sweep({ sweeper })));
  expect(swept.reduce((sum, { archived }) => sum + archived, 0)).toBe(60);
  expect(swept.every(({ archived }) => archived > 0)).toBe(true);
  expect(await stage.hot()).toEqual([]);
  // The ghost is forgotten.
  clock.advance(20_000);
  await other.look(SIGNAL);
  await one.look(SIGNAL);
  for (let tenant = 0; tenant < 30; tenant++) expect(firstFor(tenant).filter(Boolean)).toHaveLength(1);
  await other[Symbol.asyncDispose]();
  clock.advance(20_000);
  await one.look(SIGNAL);
  expect([one.isShared, firstFor(1)[0]]).toEqual([false, true]);
});

it('within a budget it waits before it looks up more, with nothing in hand', async () => {
  const stage = await archiveStage();
  await fill(stage, Array<number>(3).fill(200));
  const meter = new Meter();
  const more = {
    feed: { ...stage.archive.feed, meter },
    access: (fence: ConstructorParameters<typeof CosmosAccess>[1]) => new CosmosAccess(stage.database, fence, meter),
  };
  // The query alone has spent more, so it waits until its time is up, and ends with what it looks up then.
  const limited = await stage.sweep({ ruPerSecond: 0.001, withinMs: 1 }, more);
  expect(limited.complete).toBe(false);
  expect(limited.archived).toBeLessThanOrEqual(250);
  expect(await stage.sweep({ ruPerSecond: 1e9 }, more)).toMatchObject({ complete: true });
  expect(await stage.hot()).toEqual([]);
});
