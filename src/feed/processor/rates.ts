import { lsnOf } from '../reading/position.ts';
import type { Lag } from './lag-estimator.ts';

/** What is known of one lease at one moment. */
export interface RangeSample {
  readonly container: string;
  /** The lease's token. */
  readonly lease: string;
  readonly position: string | undefined;
  /** Changes that this host has handled on the range, so far. */
  readonly handled: number;
  readonly lag: Lag;
}

/** How fast one range goes, over the last minutes. null: not known yet, or not knowable. */
export interface RangeRates {
  readonly container: string;
  readonly lease: string;
  /** Changes a second that this host handled. */
  readonly handledPerSecond: number | null;
  /** Transactions a second that the position passed, by lsn. */
  readonly outPerSecond: number | null;
  /** Transactions a second that came into the feed: those that were passed, and those by which the lag grew. */
  readonly inPerSecond: number | null;
  /** Transactions behind the position. */
  readonly lag: number | null;
  /** Seconds until the lag is 0, if both rates stay. `never`: the lag doesn't shrink. */
  readonly catchUp: number | 'never' | null;
}

interface Point extends RangeSample {
  readonly at: number;
}

/** The time over which rates are taken. */
export const RATE_WINDOW_MS = 300_000;

/**
 * Rates of ranges, from samples of their positions and lags. A position is an lsn. It counts transactions and not changes:
 * deletions, overwritten versions and a transactional batch count as the service numbers them.
 */
export class Rates {
  readonly #points = new Map<string, Point[]>();
  #now: readonly RangeRates[] = [];

  /** Takes all ranges of this host at the time `at`, monotonic milliseconds. A range that is missing is forgotten. */
  sample(ranges: readonly RangeSample[], at: number): void {
    const before = new Map(this.#points);
    this.#points.clear();
    this.#now = ranges.map((range) => {
      const name = `${range.container} ${range.lease}`;
      const point = { ...range, at };
      const known = (before.get(name) ?? []).filter((one) => at - one.at <= RATE_WINDOW_MS && isBefore(one, point));
      this.#points.set(name, [...known, point]);
      return ratesOf(known[0], point);
    });
  }

  /** As of the last sample. */
  get now(): readonly RangeRates[] {
    return this.#now;
  }
}

/** False: the range was rewound, or another tenure counts its changes. Then older samples say nothing. */
const isBefore = (one: Point, next: Point): boolean =>
  one.handled <= next.handled && lsnOf(one.position ?? '') <= lsnOf(next.position ?? '');

function ratesOf(first: Point | undefined, last: Point): RangeRates {
  const { container, lease } = last;
  const lag = last.lag.known ? last.lag.changes : null;
  const none = { handledPerSecond: null, outPerSecond: null, inPerSecond: null };
  if (!first || first.at === last.at) return { container, lease, ...none, lag, catchUp: lag === 0 ? 0 : null };
  const seconds = (last.at - first.at) / 1_000;
  const passed = first.position === undefined ? null : lsnOf(last.position ?? '') - lsnOf(first.position);
  const grown = last.lag.known && first.lag.known ? last.lag.changes - first.lag.changes : null;
  return {
    container,
    lease,
    handledPerSecond: (last.handled - first.handled) / seconds,
    outPerSecond: passed === null ? null : passed / seconds,
    inPerSecond: passed === null || grown === null ? null : Math.max(0, passed + grown) / seconds,
    lag,
    catchUp: catchUpOf(lag, grown, seconds),
  };
}

/** The lag ÷ (out − in). Out − in is the speed with which the lag shrinks. */
function catchUpOf(lag: number | null, grown: number | null, seconds: number): RangeRates['catchUp'] {
  if (lag === 0) return 0;
  if (lag === null || grown === null) return null;
  return grown >= 0 ? 'never' : (lag * seconds) / -grown;
}
