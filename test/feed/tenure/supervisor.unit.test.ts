import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Change } from '../../../src/feed/reading/change.ts';
import type { Lease } from '../../../src/feed/leases/lease.ts';
import { LeaseTenure } from '../../../src/feed/tenure/lease-tenure.ts';
import { lsnOf } from '../../../src/feed/reading/position.ts';
import { RangeMemory } from '../../../src/feed/tenure/range-memory.ts';
import type { ChangeSource } from '../../../src/feed/reading/source.ts';
import type { Handle } from '../../../src/feed/tenure/page-handler.ts';
import { Supervisor, type SupervisorOptions } from '../../../src/feed/tenure/supervisor.ts';
import { ManualClock } from '../../support/clock.ts';

const LEASE: Lease = { id: 'P..0', token: '0', range: { min: '', max: 'FF' }, owner: 'me', etag: '"0"' };
const POLL_MS = 100;
const CHECKPOINT_MS = 500;

interface Supervising extends Partial<Pick<SupervisorOptions, 'stallMs'>> {
  readonly clock?: ManualClock;
  /** Instead of taking `handlerMs`. */
  readonly handle?: Handle;
  /** When a second transaction comes, and the time of its change; undefined: it has none for this reader. */
  readonly second?: { readonly comes: number; readonly at?: number };
  /** Instead: transactions of so many changes, one each so many milliseconds. */
  readonly steady?: { readonly changes: number; readonly everyMs: number };
}

/** A lease whose feed begins with one change; a read takes `readMs` and a handler `handlerMs`. */
function supervise(readMs: number, handlerMs: number, options: Supervising = {}) {
  const {
    clock = new ManualClock(),
    handle = () => clock.sleep(handlerMs),
    stallMs = 60_000,
    second,
    steady,
  } = options;
  const written: number[] = [];
  const kept = (lease: Lease): Promise<Lease> => {
    written.push(clock.monotonic());
    return Promise.resolve(lease);
  };
  const done = (): Promise<void> => Promise.resolve();
  const store = { renew: kept, release: done, read: kept, takeOver: kept, handOver: done };
  const beganAt = clock.monotonic();
  const begun: number[] = [];
  const version = { epoch: 1, lsn: 1, etag: '"1"' };
  const change: Change = { container: 'c', type: 'item', key: ['k'], id: 'i', version, at: 0, op: 'upsert' };
  const source: ChangeSource = {
    prepare: done,
    read: async (range, from) => {
      const readAt = clock.monotonic();
      begun.push(readAt);
      await clock.sleep(readMs);
      const page = (next: string, ...changes: Change[]) => ({ changes, next, range, charge: 1, readAt });
      if (steady) {
        const lsn = Math.floor((readAt - beganAt) / steady.everyMs);
        const transactions = lsn - Math.max(0, lsnOf(from));
        if (transactions === 0) return page(from);
        const all = steady.changes * transactions;
        return page(`"${lsn}"`, ...Array.from({ length: all }, () => ({ ...change, version: { ...version, lsn } })));
      }
      if (second && lsnOf(from) === 1 && readAt >= second.comes) {
        const { at } = second;
        return page('"2"', ...(at === undefined ? [] : [{ ...change, version: { ...version, lsn: 2 }, at }]));
      }
      if (lsnOf(from) === 2) return page(from);
      return page('"1"', ...(lsnOf(from) < 1 ? [change] : []));
    },
    resolve: () => Promise.resolve(''),
  };
  const times = { renewMs: 1_000, expirationMs: 240_000, checkpointMs: CHECKPOINT_MS };
  const tenure = new LeaseTenure(LEASE, clock.monotonic(), { container: 'c', store, clock, ...times });
  const stop = new AbortController();
  const supervisor = new Supervisor(
    tenure,
    {
      container: 'c',
      source,
      handle,
      start: 'beginning',
      concurrency: 1,
      mostUnacknowledged: 100,
      manual: false,
      pollMs: POLL_MS,
      aloneAt: 0,
      memory: new RangeMemory(),
      stallMs,
      unacknowledgedMs: 60_000,
      storedFirst: false,
      clock,
    },
    { stop: stop.signal, split: new AbortController().signal },
  );
  const ended = supervisor.run();
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed++) {
      for (let turns = 0; turns < 3; turns++) await turn();
      clock.advance(1);
    }
  };
  const end = async (): Promise<void> => {
    stop.abort();
    await ended;
    await tenure.end(false);
  };
  return { begun, written, supervisor, tenure, pass, end };
}

/** From the read that found nothing first to the next, and so on. */
const intervals = ([, ...empty]: readonly number[]): number[] => empty.slice(1).map((at, n) => at - (empty[n] ?? 0));

it.each([
  ['nothing is handled', 5, 0],
  ['something is handled meanwhile', 5, 60],
  ['something is handled for longer', 5, 250],
])(
  'a supervisor asks again the poll delay after the last question, also where %s',
  async (_title, readMs, handlerMs) => {
    const { begun, pass, end, supervisor } = supervise(readMs, handlerMs);
    await pass(600);
    expect(intervals(begun)).toEqual([POLL_MS, POLL_MS, POLL_MS, POLL_MS, POLL_MS]);
    expect(supervisor.status.idleSince).toBeDefined();
    await end();
  },
);

it.each([
  ['is as old as the oldest change in hand', { comes: 5_000, at: 4_990 }, 4_990],
  ['counts from the last read to the end, where nothing is left for this reader', { comes: 5_000 }, undefined],
])('after a pause, what a lease has reached %s', async (_title, second, expected) => {
  const clock = new ManualClock();
  const { begun, pass, end, supervisor } = supervise(60, 1_000, { clock, second });
  await pass(3_900);
  expect(supervisor.status).toMatchObject({ idleSince: expect.any(Number), position: '"1"' });
  const wanted = () => supervisor.status.idleSince === undefined;
  for (let passed = 0; passed < 400 && !wanted(); passed++) await pass(1);
  expect(wanted()).toBe(true);
  const atEnd = begun.findLast((at) => at < second.comes);
  expect(supervisor.status.reached).toBe(expected ?? atEnd);
  // Until the handler has ended.
  await pass(1_100);
  await end();
});

it.each([
  ['many', POLL_MS / 4, 20, CHECKPOINT_MS],
  ['few', POLL_MS, 3, POLL_MS],
])(
  'where %s changes came, a supervisor asks again %i ms after the last question',
  async (_title, ms, changes, writeMs) => {
    const { begun, written, pass, end } = supervise(1, 0, { steady: { changes, everyMs: 20 } });
    await pass(5_000);
    const pauses = intervals(begun).filter((pause) => pause > 2);
    expect(new Set(pauses)).toEqual(new Set([ms]));
    // A feed that isn't idle stores its checkpoint when it is due.
    expect(written.length).toBeLessThanOrEqual(5_000 / writeMs + 1);
    await end();
  },
);

it('a supervisor asks one question after the other where one takes longer than the poll delay', async () => {
  const { begun, pass, end } = supervise(150, 0);
  await pass(700);
  expect(intervals(begun).every((ms) => ms >= 150 && ms < 160)).toBe(true);
  await end();
});

it.each([
  ['progress', true],
  ['nothing', false],
])('a handler that says %s within the stall limit keeps its lease: %s', async (says, keeps) => {
  const clock = new ManualClock();
  const handle: Handle = async (_page, _fence, tenure) => {
    for (let parked = 0; parked < 40; parked++) {
      await clock.sleep(100);
      if (says === 'progress') tenure.progress();
    }
  };
  const { tenure, pass, end } = supervise(5, 0, { clock, handle, stallMs: 1_500 });
  await pass(4_200);
  expect(tenure.signal.aborted).toBe(!keeps);
  await end();
});
