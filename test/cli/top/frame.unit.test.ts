import { expect, it } from 'vitest';
import { type Look, Rates, frameOf } from '../../../src/cli/top/frame.ts';
import { widthOf } from '../../../src/cli/fit.ts';
import type { Status } from '../../../src/operations/status.ts';

const range = (lease: string, more: object = {}) => ({
  container: 'Orders',
  lease,
  handledPerSecond: 120,
  outPerSecond: 60,
  inPerSecond: 80.5,
  lag: 12,
  catchUp: 3,
  inHand: null,
  rejection: null,
  ...more,
});

const status = (more: object = {}): Status =>
  ({
    database: 'shop',
    unreadable: [],
    projections: [
      { id: 'summaries@1', state: 'current', start: null, ruPerChange: 12.5, parked: 0, parkedSince: null },
      { id: 'days@1', state: 'paused', start: null, ruPerChange: null, parked: 3, parkedSince: null },
    ],
    leases: { all: 3, free: 1 },
    sources: [
      { container: 'Orders', leases: 3, lag: { known: true, changes: 40, ageMs: 2_400, charge: 1 }, troubled: [] },
    ],
    hosts: [
      {
        owner: 'host-1',
        leases: 2,
        writtenSecondsAgo: 1,
        status: {
          projections: [{ projection: 'summaries@1', changes: 1_000, ruPerChange: 12.5, lag: 1, parked: 0 }],
          sources: [],
          ranges: [
            range('0', { lag: 0, catchUp: 0 }),
            range('1', { inHand: { changes: 100, seconds: 2, deliveries: 1 } }),
            range('2', { lag: null, rejection: { at: '2026-01-01T00:00:00Z', changes: 5, why: 'it failed' } }),
          ],
        },
      },
    ],
    ...more,
  }) as unknown as Status;

const look = (more: Partial<Look> = {}, of = status()): Look => ({
  status: of,
  rates: { 'summaries@1': 120 },
  total: 120,
  at: '12:34:56',
  ...more,
});
const options = { pipeline: 'shop', every: '2s', scroll: 0 };
const frame = (size: { columns: number; rows: number }, of = look(), scroll = 0) =>
  frameOf(of, size, { ...options, scroll });

it('shows totals, projections and ranges, those that are behind first', () => {
  expect(frame({ columns: 120, rows: 30 }).lines.join('\n')).toMatchInlineSnapshot(`
    "shop in shop, 12:34:56, each 2s. q: quit, arrows: scroll
    120/s changes · lag 40, 2 s · 3 parked · 1 host · 3 leases, 1 free

    projection   state    changes  RU/change  parked
    summaries@1  current  120/s    12.5            0
    days@1       paused                            3

    source  lease  host    lag      in    changes  catches up in  in hand   rejected
    Orders  2      host-1  unknown  81/s  120/s    3 s                      it failed
    Orders  1      host-1  12       81/s  120/s    3 s            100, 2 s
    Orders  0      host-1  0        81/s  120/s    0 s"
  `);
});

it('shows what is wrong before everything else, and that a look has failed', () => {
  const troubled = status({
    unreadable: [{ kind: 'views', readable: false }],
    sources: [
      {
        container: 'Orders',
        leases: 1,
        lag: { known: false, why: 'x' },
        troubled: [{ token: '2', why: 'stuck for 90 s' }],
      },
    ],
    hosts: [
      {
        owner: 'host-1',
        leases: 1,
        writtenSecondsAgo: 1,
        status: { projections: [], sources: [{ container: 'Orders', leases: 1, known: 0, failure: '503' }] },
      },
    ],
  });
  expect(frame({ columns: 80, rows: 30 }, look({ failed: 'no answer', total: undefined }, troubled)).lines.join('\n'))
    .toMatchInlineSnapshot(`
    "shop in shop, 12:34:56, each 2s. q: quit, arrows: scroll
    rate not known yet · lag unknown · 3 parked · 1 host · 3 leases, 1 free
    The last look failed: no answer
    Hosts of this version wait: they can't read views.
    Orders 2: stuck for 90 s
    host-1, feed of Orders: 503

    projection   state    changes  RU/change  parked
    summaries@1  current  120/s    12.5            0
    days@1       paused                            3

    source  leases  lag
    Orders       1  unknown"
  `);
});

it.each([
  [20, 6],
  [40, 10],
  [360, 100],
  [10, 2],
])('stays within %i columns and %i rows', (columns, rows) => {
  const { lines } = frame({ columns, rows });
  expect(lines.length).toBeLessThanOrEqual(rows);
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
});

it('scrolls what has no room, and not beyond its end', () => {
  const size = { columns: 120, rows: 7 };
  const first = frame(size);
  expect(first.lines.at(-1)).toMatch(/… 5 lines more/);
  const end = frame(size, look(), 1_000);
  expect(end.scroll).toBe(4);
  expect(end.lines.at(-1)).toMatch(/^Orders +0 /);
  expect(end.lines.slice(0, 3)).toEqual(first.lines.slice(0, 3));
  expect(frame(size, look(), -5).scroll).toBe(0);
});

it('works out rates over the looks, of all hosts together', () => {
  const rates = new Rates();
  const counts = (...changes: number[]) =>
    ({ hosts: changes.map((n) => ({ status: { projections: [{ projection: 'a@1', changes: n }] } })) }) as never;
  expect(rates.note(counts(10, 5), 0)).toEqual({ rates: {}, total: undefined });
  expect(rates.note(counts(30, 15), 2_000)).toEqual({ rates: { 'a@1': 15 }, total: 15 });
  // A host has started anew: its counts begin again.
  expect(rates.note(counts(0, 15), 4_000)).toEqual({ rates: {}, total: undefined });
});
