import { sayRate } from '../../base/speed.ts';
import { plural, textTable } from '../../procedures/table.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import type { App } from '../../runtime/hosts/processor-host.ts';
import type { SourceStatus } from '../../runtime/source-reading.ts';

export interface ProjectionProgress {
  readonly projection: string;
  readonly changes: number;
  readonly writes: number;
  readonly requests: number;
  /** Request units for reading and writing the projection's documents. */
  readonly charge: number;
  readonly ruPerChange: number;
  readonly parked: number;
  readonly throttled: number;
  /**
   * The age of the oldest change in hand, in the source feed that is furthest behind, or of the newest one handled; 0 if
   * all feeds were just read to their end. null: it isn't known, or the projection reads no feed now (`follows`).
   */
  readonly lag: number | null;
  /** Whether the projection reads a feed now. False for an ingest and for a version that isn't current. */
  readonly follows: boolean;
}

/** How long a read may take before the result of the read before it counts as old. */
const READ_MS = 15_000;

export function hostProgressOf(
  app: Pick<App, 'stats' | 'sources'>,
  now = Date.now(),
  clock: Pick<Clock, 'monotonic'> = systemClock,
): ProjectionProgress[] {
  const sources = app.sources();
  return app.stats().map(({ id, changes, parked, idle, meter }) => {
    const read = idle ? [] : sources.filter(({ readers }) => readers.includes(id));
    return {
      projection: id,
      changes,
      writes: meter.writes,
      requests: meter.requests,
      charge: round(meter.charge),
      ruPerChange: changes === 0 ? 0 : round(meter.charge / changes),
      parked,
      throttled: meter.throttled,
      lag: highest(read.flatMap((source) => lagsOf(source, now, clock.monotonic()))),
      follows: read.length > 0,
    };
  });
}

/** The sums of two parts of one run, of the projections that there are now. */
export function withBefore(
  rows: readonly ProjectionProgress[],
  before: readonly ProjectionProgress[],
): ProjectionProgress[] {
  return rows.map((row) => {
    const was = before.find(({ projection }) => projection === row.projection);
    if (!was) return row;
    const [changes, charge] = [was.changes + row.changes, round(was.charge + row.charge)];
    return {
      ...row,
      changes,
      charge,
      ruPerChange: changes === 0 ? 0 : round(charge / changes),
      writes: was.writes + row.writes,
      requests: was.requests + row.requests,
      parked: was.parked + row.parked,
      throttled: was.throttled + row.throttled,
    };
  });
}

/** The lag of each lease of this host, in seconds; one unknown lag if the host has no lease. */
function lagsOf({ leases, pollMs }: SourceStatus, now: number, monotonic: number): (number | null)[] {
  if (leases.length === 0) return [null];
  return leases.map(({ failure, idleSince, checkedAt, reached }) => {
    if (failure !== undefined) return null;
    // An old answer says nothing about a server that has not answered since.
    if (idleSince !== undefined) return monotonic - (checkedAt ?? -Infinity) > 2 * pollMs + READ_MS ? null : 0;
    return reached === undefined ? null : Math.max(0, Math.round((now - reached) / 1000));
  });
}

/** null if one of them isn't known, or there is none. */
function highest(lags: readonly (number | null)[]): number | null {
  let most: number | null = null;
  for (const lag of lags) {
    if (lag === null) return null;
    most = Math.max(most ?? 0, lag);
  }
  return most;
}

const round = (value: number): number => Math.round(value * 100) / 100;

export function progressTable(rows: readonly ProjectionProgress[]): string[] {
  return textTable(
    ['projection', 'changes', 'writes', 'requests', 'RU/change', 'lag s', 'parked'],
    rows.map((row) => [
      row.projection,
      row.changes,
      row.writes,
      row.requests,
      row.ruPerChange,
      row.follows ? (row.lag ?? 'unknown') : '',
      row.parked,
    ]),
  ).split('\n');
}

/**
 * One line: `12,000 changes, 340/s, 34,000 writes, 5 parked, lag 2 s`. Undefined: not known. `perSecond`: of changes;
 * `parked`: how many are parked now.
 */
export function progressLine(
  rows: readonly ProjectionProgress[],
  { perSecond, parked = 0 }: { readonly perSecond?: number | undefined; readonly parked?: number | undefined } = {},
): string {
  const followed = rows.filter(({ follows }) => follows);
  const lag = highest(followed.map((row) => row.lag));
  return [
    plural(hostChangesOf(rows), 'change'),
    ...(perSecond === undefined || perSecond === 0 ? [] : [sayRate(perSecond)]),
    plural(
      rows.reduce((total, { writes }) => total + writes, 0),
      'write',
    ),
    ...(parked > 0 ? [`${parked.toLocaleString('en-US')} parked`] : []),
    ...(followed.length > 0 ? [lag === null ? 'lag unknown' : `lag ${lag} s`] : []),
  ].join(', ');
}

/** A change counts once for each projection that applied it. */
export const hostChangesOf = (rows: readonly ProjectionProgress[]): number =>
  rows.reduce((total, { changes }) => total + changes, 0);
