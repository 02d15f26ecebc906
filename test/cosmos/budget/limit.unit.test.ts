import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Budget, type Lane } from '../../../src/cosmos/budget/limit.ts';
import { ManualClock } from '../../support/clock.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';

const SEED = suiteSeed();

/** Lets time pass in steps, and whoever waits get on in between. */
async function pass(clock: ManualClock, ms: number, step = 5): Promise<void> {
  for (let left = ms; left > 0; left -= step) {
    clock.advance(step);
    await turn();
  }
}

interface Spender {
  spent: number;
  requests: number;
}

/** Sends one request after the other until stopped; each costs what `charge` says and takes 5 ms. */
function spender(
  budget: Budget,
  clock: ManualClock,
  {
    lane = 'live',
    signal,
    charge,
    tenant,
  }: { lane?: Lane; signal: AbortSignal; charge: () => number; tenant?: string },
): Spender {
  const so: Spender = { spent: 0, requests: 0 };
  const work = async (): Promise<void> => {
    while (!signal.aborted) {
      const grant = await budget.take('p', lane, undefined, tenant);
      await clock.sleep(5);
      const cost = charge();
      so.spent += cost;
      so.requests += 1;
      grant.account(cost);
    }
  };
  void work();
  return so;
}

const LARGEST = 650;

test(`what is spent keeps to the budget, whatever the requests cost (seed ${SEED})`, async () => {
  for (let seed = SEED; seed < SEED + 5; seed++) {
    const random = new Random(seed);
    const clock = new ManualClock();
    const stop = new AbortController();
    const ruPerSecond = 400 + random.int(4_000);
    const budget = new Budget(ruPerSecond, clock);
    const charge = (): number => (random.chance(0.1) ? 50 + random.int(LARGEST - 50) : 1 + random.int(20));
    const workers = Array.from({ length: 16 }, () => spender(budget, clock, { signal: stop.signal, charge }));
    await pass(clock, 2_000);
    const before = workers.reduce((sum, { spent }) => sum + spent, 0);
    await pass(clock, 20_000);
    const spent = workers.reduce((sum, { spent: so }) => sum + so, 0) - before;
    stop.abort();
    // Several large requests may fall on one side of an end of the time, and are paid on the other.
    const off = 0.05 + (2 * LARGEST) / (20 * ruPerSecond);
    expect(spent / 20 / ruPerSecond, `seed ${seed}`).toBeGreaterThan(1 - off);
    expect(spent / 20 / ruPerSecond, `seed ${seed}`).toBeLessThan(1 + off);
  }
});

test('bulk work gets what live work leaves, and live work hardly notices', async () => {
  const clock = new ManualClock();
  const stop = new AbortController();
  const budget = new Budget(1_000, clock);
  const live = spender(budget, clock, { signal: stop.signal, charge: () => 3 });
  const bulk = Array.from({ length: 8 }, () =>
    spender(budget, clock, { lane: 'bulk', signal: stop.signal, charge: () => 10 }),
  );
  await pass(clock, 10_000);
  // Alone it would send one request each 5 to 10 ms, the wait for the next step included.
  const alone = live.requests;
  expect(alone).toBeGreaterThan(900);
  expect(bulk.reduce((sum, { spent }) => sum + spent, 0)).toBeGreaterThan(4_000);
  const [one, two, three, four] = Array.from({ length: 4 }, () =>
    spender(budget, clock, { signal: stop.signal, charge: () => 30 }),
  );
  await pass(clock, 2_000);
  const before = bulk.reduce((sum, { spent }) => sum + spent, 0);
  await pass(clock, 5_000);
  expect(
    bulk.reduce((sum, { spent }) => sum + spent, 0),
    'bulk while live takes all',
  ).toBe(before);
  expect([one, two, three, four].every((of) => (of?.requests ?? 0) > 20)).toBe(true);
  stop.abort();
});

test.each<Lane>(['live', 'bulk'])(
  'tenants whose %s requests wait get the same RU, not the same requests',
  async (lane) => {
    const clock = new ManualClock();
    const stop = new AbortController();
    const { signal } = stop;
    const budget = new Budget(1_000, clock);
    const flood = Array.from({ length: 20 }, () =>
      spender(budget, clock, { lane, signal, charge: () => 60, tenant: 'flood' }),
    );
    const quiet = Array.from({ length: 4 }, () =>
      spender(budget, clock, { lane, signal, charge: () => 10, tenant: 'quiet' }),
    );
    await pass(clock, 30_000);
    stop.abort();
    const [much, little] = [flood, quiet].map((all) => all.reduce((sum, { spent }) => sum + spent, 0)) as [
      number,
      number,
    ];
    expect(much + little).toBeGreaterThan(0.7 * 30_000);
    expect(Math.abs(much / little - 1)).toBeLessThan(0.15);
  },
);

test('a 429 takes the rate down once a second, and it comes back', async () => {
  const clock = new ManualClock();
  const budget = new Budget(1_000, clock);
  const grants = await Promise.all([1, 2, 3].map(() => budget.take('p', 'live')));
  for (const grant of grants) grant.account(0, true);
  expect(budget.rateOf('p')).toBe(700);
  clock.advance(1_000);
  expect(budget.rateOf('p')).toBe(750);
  clock.advance(5_000);
  expect(budget.rateOf('p')).toBe(1_000);
  for (let second = 0; second < 60; second++) {
    clock.advance(1_000);
    const grant = budget.take('p', 'live');
    await pass(clock, 20);
    (await grant).account(0, true);
  }
  expect(budget.rateOf('p')).toBeGreaterThanOrEqual(100);
  expect(budget.rateOf('other')).toBe(1_000);
});

test('a 429 of bulk work lowers bulk work alone, and one of live work both', async () => {
  const clock = new ManualClock();
  const budget = new Budget(1_000, clock);
  (await budget.take('p', 'bulk')).account(undefined, true);
  expect([budget.rateOf('p', 'live'), budget.rateOf('p', 'bulk')]).toEqual([1_000, 700]);
  // Sent again by the same grant: it is lowered at once, not when the request has its answer.
  clock.advance(1_000);
  (await budget.take('p', 'live')).throttled();
  expect(budget.rateOf('p', 'live')).toBe(700);
  expect(budget.rateOf('p', 'bulk')).toBeCloseTo(525);
});

test('requests without an answer teach nothing about costs, and cost nothing', async () => {
  const clock = new ManualClock();
  const budget = new Budget(1_000, clock);
  for (let n = 0; n < 15; n++) (await budget.take('p', 'live')).account(50);
  clock.advance(20_000);
  for (let n = 0; n < 50; n++) (await budget.take('p', 'live')).account(undefined);
  // Each is expected to cost almost 50: 22 of them are more than a second's worth.
  for (let n = 0; n < 21; n++) await budget.take('p', 'live');
  const stop = new AbortController();
  const next = budget.take('p', 'live', stop.signal);
  expect(await Promise.race([next.then(() => 'sent'), turn().then(() => 'waits')])).toBe('waits');
  stop.abort(new Error('enough'));
  await next.catch(() => undefined);
});

test('a request that waits can be called off', async () => {
  const clock = new ManualClock();
  const budget = new Budget(100, clock);
  (await budget.take('p', 'live')).account(5_000);
  const stop = new AbortController();
  const waiting = budget.take('p', 'live', stop.signal);
  stop.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  const next = budget.take('p', 'live');
  clock.advance(49_000);
  await turn();
  clock.advance(2_000);
  await expect(next).resolves.toBeDefined();
});
