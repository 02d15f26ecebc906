import { plural, table } from '../operations/table.ts';
import type { App } from './compose.ts';

export interface ProjectionProgress {
  readonly projection: string;
  readonly changes: number;
  readonly writes: number;
  readonly requests: number;
  /** Request units, of reading and writing what the projection derives. */
  readonly charge: number;
  readonly ruPerChange: number;
  readonly parked: number;
  readonly throttled: number;
  /** Seconds between now and the newest change applied while its feeds still have some; 0 when all are read. */
  readonly lag: number;
}

export function progressOf(app: Pick<App, 'stats' | 'sources'>, now = Date.now()): ProjectionProgress[] {
  const idle = app.sources().every(({ leases }) => leases.every(({ idleSince }) => idleSince !== undefined));
  return app.stats().map(({ id, changes, parked, latest, meter }) => ({
    projection: id,
    changes,
    writes: meter.writes,
    requests: meter.requests,
    charge: round(meter.charge),
    ruPerChange: changes === 0 ? 0 : round(meter.charge / changes),
    parked,
    throttled: meter.throttled,
    lag: idle || latest === 0 ? 0 : Math.max(0, Math.round((now - latest) / 1000)),
  }));
}

const round = (value: number): number => Math.round(value * 100) / 100;

export function progressTable(rows: readonly ProjectionProgress[]): string[] {
  return table(
    ['projection', 'changes', 'writes', 'requests', 'RU/change', 'lag s', 'parked'],
    rows.map((row) => [row.projection, row.changes, row.writes, row.requests, row.ruPerChange, row.lag, row.parked]),
  ).split('\n');
}

/** One line for logs: `12,000 changes, 34,000 writes, 5 parked`. */
export function progressLine(rows: readonly ProjectionProgress[]): string {
  const sum = (of: (row: ProjectionProgress) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const parked = sum((row) => row.parked);
  return [
    ...rows.map((row) => `${row.projection} ${row.changes.toLocaleString('en-US')}`),
    plural(
      sum((row) => row.writes),
      'write',
    ),
    plural(
      sum((row) => row.requests),
      'request',
    ),
    ...(parked > 0 ? [`${parked.toLocaleString('en-US')} parked`] : []),
    `lag ${Math.max(0, ...rows.map((row) => row.lag))} s`,
  ].join(', ');
}
