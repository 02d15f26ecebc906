// How far behind a host says it is: a number only where that is known.
import { expect, it } from 'vitest';
import { Views } from '../../../src/engine/views/views.ts';
import type { LeaseStatus } from '../../../src/feed/sharing/feed-host.ts';
import type { App } from '../../../src/runtime/hosts/processor-host.ts';
import {
  type ProjectionProgress,
  progressLine,
  hostProgressOf,
  progressTable,
  withBefore,
} from '../../../src/host/run/progress.ts';
import { Meter } from '../../../src/cosmos/budget/charge-meter.ts';
import { VERSIONS, live } from '../../verbs/projections/versions.ts';
import { openStage } from '../../support/stage.ts';

const NOW = 10_000_000;
const LEASE: LeaseStatus = {
  id: 'P..0',
  range: { min: '', max: 'FF' },
  state: 'reading',
  position: '"7"',
  idleSince: undefined,
  checkedAt: undefined,
  failure: undefined,
  deliveries: 0,
  handled: 0,
  inHand: undefined,
  rejection: undefined,
  reached: NOW - 22_000,
};
const IDLE = { ...LEASE, state: 'idle', idleSince: 50_000, checkedAt: 99_000 } as const;

/** A host of two projections, of which `days@1` reads orders alone; it is 100 s since the process began. */
const hostWith = (orders: readonly LeaseStatus[], customers: readonly LeaseStatus[] = [IDLE], idle = false) => {
  const stats = ['days@1', 'summaries@1'].map((id) => ({ id, changes: 5, parked: 0, idle, meter: new Meter() }));
  const source = (container: string, leases: readonly LeaseStatus[], readers: readonly string[]) =>
    ({
      container,
      mode: 'latest-version',
      leases,
      known: 1,
      kept: [],
      readers,
      pollMs: 5_000,
      meter: new Meter(),
    }) as const;
  const app: Pick<App, 'stats' | 'sources'> = {
    stats: () => stats,
    sources: () => [
      source('Orders', orders, ['days@1', 'summaries@1']),
      source('Customers', customers, ['summaries@1']),
    ],
  };
  return hostProgressOf(app, NOW, { monotonic: () => 100_000 });
};
const lags = (rows: readonly ProjectionProgress[]) => rows.map(({ lag }) => lag);

it.each<[string, readonly LeaseStatus[], readonly LeaseStatus[], readonly (number | null)[]]>([
  ['is read to its end', [IDLE], [IDLE], [0, 0]],
  ['has changes left: by the newest one handled', [LEASE], [IDLE], [22, 22]],
  [
    'is read by several leases: by the one furthest behind',
    [LEASE, { ...LEASE, reached: NOW - 99_000 }],
    [IDLE],
    [99, 99],
  ],
  ['is read to its end, and another one is not: by those it is derived from', [IDLE], [LEASE], [0, 22]],
  ['has had nothing handled yet', [{ ...LEASE, reached: undefined }], [IDLE], [null, null]],
  ['fails', [{ ...IDLE, failure: new Error('503') }], [IDLE], [null, null]],
  ['was last read too long ago: its server does not answer', [{ ...IDLE, checkedAt: 70_000 }], [IDLE], [null, null]],
  ['is read by no lease of this host', [], [IDLE], [null, null]],
])('a feed that %s', (_, orders, customers, expected) => {
  expect(lags(hostWith(orders, customers))).toEqual(expected);
});

it('what is not known is no number for people either, and what follows no feed says nothing', () => {
  expect(progressTable(hostWith([])).slice(1)).toEqual([
    expect.stringMatching(/^days@1 .* unknown +0$/),
    expect.stringMatching(/^summaries@1 .* unknown +0$/),
  ]);
  expect(progressLine(hostWith([]))).toMatch(/, lag unknown$/);
  expect(progressLine(hostWith([LEASE]))).toMatch(/, lag 22 s$/);
  expect(progressLine(hostWith([LEASE]), { perSecond: 12.34 })).toMatch(/^\d+ changes, 12\/s, /);
  const retired = hostWith([LEASE], [IDLE], true);
  expect(retired).toMatchObject([
    { lag: null, follows: false },
    { lag: null, follows: false },
  ]);
  expect(progressTable(retired).join()).not.toContain('unknown');
  expect(progressLine(retired)).not.toContain('lag');
  expect(progressLine(hostWith([LEASE]), { parked: 4_000 })).toMatch(/ writes, 4,000 parked, lag/);
  // What was parked and redriven since isn't parked now.
  expect(
    progressLine(
      hostWith([LEASE]).map((row) => ({ ...row, parked: 2 })),
      { parked: 0 },
    ),
  ).not.toContain('parked');
});

it('the progress of a running host is 0 once all is read, nothing of a version that was replaced, unknown once the server is gone', async () => {
  await using stage = await openStage({}, VERSIONS);
  const app = await live(stage);
  const { signal } = new AbortController();
  const of = (id: string, rows = hostProgressOf(app)) => rows.find(({ projection }) => projection === id);
  const order = (id: string) => ({
    id,
    type: 'order',
    storeId: 's1',
    customerId: 'c1',
    placedAt: '2026-01-01T10:00:00Z',
    cents: 1,
  });
  try {
    await stage.container('Orders').items.create(order('o1'));
    await app.drained(signal);
    expect(of('days@1')).toMatchObject({ changes: 1, lag: 0, follows: true });
    expect(of('days@2')).toMatchObject({ changes: 0, lag: null, follows: false });
    await new Views(stage.services.place.state, stage.loaded.pipeline.name).change('days', (view) => {
      const { current } = view;
      if (!current) throw new Error('Nothing is current');
      return { ...view, current: { ...current, version: 2 }, promotions: 1 };
    });
    // Once the host has seen that, whichever change shows it.
    let n = 1;
    await expect
      .poll(async () => {
        await stage.container('Orders').items.create(order(`o${(n += 1)}`));
        await app.drained(signal);
        return [of('days@1')?.follows, of('days@2')?.follows];
      })
      .toEqual([false, true]);
    expect(lags(hostProgressOf(app).filter(({ follows }) => follows))).toEqual([0, 0]);
    const later = { monotonic: () => performance.now() + 60_000 };
    expect(of('days@2', hostProgressOf(app, Date.now(), later))?.lag).toBeNull();
  } finally {
    await app.stop();
  }
  expect(of('days@2')?.lag, 'without leases').toBeNull();
});

it('the progress adds what a projection did before its pipeline was loaded again, and leaves out one that is gone', () => {
  const row = (projection: string, changes: number): ProjectionProgress => ({
    projection,
    changes,
    writes: 2 * changes,
    requests: changes,
    charge: 10 * changes,
    ruPerChange: 10,
    parked: 1,
    throttled: 0,
    lag: 3,
    follows: true,
  });
  const before = [row('days@1', 4), row('gone@1', 9)];
  expect(withBefore([row('new@1', 1), { ...row('days@1', 6), charge: 20, lag: 0 }], before)).toEqual([
    row('new@1', 1),
    { ...row('days@1', 10), charge: 60, ruPerChange: 6, parked: 2, lag: 0 },
  ]);
  expect(withBefore([{ ...row('days@1', 0), ruPerChange: 0 }], [])).toMatchObject([{ changes: 0, ruPerChange: 0 }]);
});
