import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Budget } from '../../src/cosmos/budget/limit.ts';
import { Meter } from '../../src/cosmos/budget/charge-meter.ts';
import { physicalRanges } from '../../src/cosmos/physical-ranges.ts';
import { rangeId } from '../../src/cosmos/ranges.ts';
import { Spending } from '../../src/cosmos/budget/meter.ts';
import { openSource } from '../../src/feed/reading/open-source.ts';
import type { Fence } from '../../src/feed/tenure/fence.ts';
import { CosmosAccess } from '../../src/access/cosmos-access.ts';
import type { Write } from '../../src/access/document-access.ts';
import { emulate } from '../emulator/emulate.ts';
import { ManualClock } from '../support/clock.ts';

const OPEN: Fence = { kind: 'host', tenure: {}, signal: new AbortController().signal, assert: () => undefined };
const create = (id: string, pk: string): Write => ({ op: 'create', id, body: { id, pk } });

/** A session that may spend `ruPerSecond` of each partition; 4 of them, and keys by the partition they fall into. */
async function spender(ruPerSecond: number, fence: Fence = OPEN) {
  const stage = await emulate();
  for (const half of stage.emulator.split('d/c')) stage.emulator.split('d/c', half);
  const clock = new ManualClock();
  const budget = new Budget(ruPerSecond, clock);
  const spending = new Spending(stage.database, budget, 'live', clock);
  const keys = new Map<string, string>();
  for (let n = 0; n < 100; n++) keys.set(await spending.partitionOf('c', [`k${n}`]), `k${n}`);
  const access = new CosmosAccess(stage.database, fence, new Meter(), spending);
  return { ...stage, clock, budget, spending, access, keys: [...keys.values()] };
}

/** Whether it has ended by the time everything else stands still. */
async function settled(of: Promise<unknown>): Promise<boolean> {
  const so = { done: false };
  void of.finally(() => (so.done = true)).catch(() => undefined);
  for (let turns = 0; turns < 200 && !so.done; turns++) await turn();
  return so.done;
}

test('a write of either kind waits for its partition’s budget, and for no other’s', async () => {
  const { access, keys, clock } = await spender(10);
  const [one = '', other = ''] = keys;
  expect(keys).toHaveLength(4);
  const batch = Array.from({ length: 20 }, (_, n) => create(`d${n}`, one));
  expect((await access.commit('c', [one], batch)).kind).toBe('done');
  const next = access.commit('c', [one], [create('next', one)]);
  const pair = access.commit('c', [one], [create('p1', one), create('p2', one)]);
  expect(await settled(next)).toBe(false);
  expect(await settled(pair)).toBe(false);
  expect((await access.commit('c', [other], [create('d', other)])).kind).toBe('done');
  for (let second = 0; second < 60 && !(await settled(Promise.all([next, pair]))); second++) clock.advance(1_000);
  expect([(await next).kind, (await pair).kind]).toEqual(['done', 'done']);
});

test('a host that lost its lease while it waited writes nothing', async () => {
  let lost = false;
  const fence: Fence = {
    ...OPEN,
    assert: () => {
      if (lost) throw new Error('lease lost');
    },
  };
  const { access, keys, clock, container } = await spender(10, fence);
  const [key = ''] = keys;
  await access.commit(
    'c',
    [key],
    Array.from({ length: 20 }, (_, n) => create(`d${n}`, key)),
  );
  const waiting = [
    access.commit('c', [key], [create('late', key)]),
    access.commit('c', [key], [create('l1', key), create('l2', key)]),
  ];
  for (const one of waiting) expect(await settled(one)).toBe(false);
  lost = true;
  const results = Promise.allSettled(waiting);
  for (let second = 0; second < 60 && !(await settled(results)); second++) clock.advance(1_000);
  expect((await results).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const { resources } = await container.items.query("SELECT VALUE c.id FROM c WHERE STARTSWITH(c.id, 'l')").fetchAll();
  expect(resources).toEqual([]);
});

test('a bulk request that is throttled as a whole lowers the rate of its partition, and of no other', async () => {
  const { emulator, access, budget, spending, keys, clock } = await spender(1_000);
  emulator.faults({ rules: [{ container: 'c', operation: 'batch', status: 429, retryAfterMs: 1, times: 1 }] });
  const written = Promise.all(keys.map((key) => access.commit('c', [key], [create('d', key)])));
  while (!(await settled(written))) clock.advance(1);
  expect((await written).map(({ kind }) => kind)).toEqual(keys.map(() => 'done'));
  const names = await Promise.all(keys.map((key) => spending.partitionOf('c', [key])));
  const lowered = names.filter((name) => budget.rateOf(name) < 1_000);
  expect(lowered).toHaveLength(1);
});

test('a page of the feed that is throttled lowers the rate of its partition', async () => {
  const { emulator, budget, spending, container, keys } = await spender(1_000);
  const [key = ''] = keys;
  await container.items.create({ id: 'd', pk: key });
  const name = await spending.partitionOf('c', [key]);
  const { source } = await openSource(container, { budget: spending.reading('c') });
  emulator.faults({ rules: [{ operation: 'change-feed', status: 429, retryAfterMs: 1, times: 1 }] });
  for (const range of await physicalRanges(container)) {
    if (`c ${rangeId(range)}` !== name) continue;
    const { changes } = await source.read(range, '', new AbortController().signal);
    expect(changes).toHaveLength(1);
  }
  expect(budget.rateOf(name)).toBe(700);
});
