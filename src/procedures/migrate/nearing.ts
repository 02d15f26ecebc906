import type { Container } from '@azure/cosmos';
import type { Clock } from '../../base/clock.ts';
import type { Meter } from '../../cosmos/budget/charge-meter.ts';
import { LagEstimator } from '../../feed/processor/lag-estimator.ts';
import { Partitions } from '../../feed/leases/partitions.ts';
import { type RangePosition, positionIn } from '../../feed/reading/position.ts';
import { plural } from '../table.ts';
import { operationsError } from '../errors.ts';

/** The pause between two measurements of the remaining changes. Each takes two requests a physical partition. */
const LOOK_MS = 60_000;

export interface NearingOptions {
  /** The source container, and its `_rid`. */
  readonly from: Container;
  readonly rid: string;
  /** Name of the target container. */
  readonly into: string;
  /** Counts the requests that the target throttles. */
  readonly meter: Meter;
  readonly clock: Clock;
  /** Called after each measurement with no progress, with the reason and a hint. */
  readonly warn: (text: string) => void;
  /** How long there may be no progress, milliseconds; absent: for ever. */
  readonly patienceMs?: number | undefined;
}

/** Watches whether a copy that follows a feed is faster than the writers. */
export class Nearing {
  readonly #options: NearingOptions;
  #looked: number;
  /** The measurement with the least left. */
  #nearest: { readonly left: number; readonly at: number; readonly throttled: number } | undefined;

  constructor(options: NearingOptions) {
    this.#options = options;
    this.#looked = options.clock.monotonic();
  }

  /**
   * Call it after each large page with the positions of the ranges; it measures once a minute.
   * @throws MillraceError `too-slow` after `patienceMs` without progress
   */
  async look(positions: readonly RangePosition[]): Promise<void> {
    const { clock, meter, warn, patienceMs = Infinity } = this.#options;
    const at = clock.monotonic();
    if (at - this.#looked < LOOK_MS) return;
    this.#looked = at;
    const left = await this.#left(positions);
    if (left === undefined) return;
    if (!this.#nearest || left < this.#nearest.left) {
      this.#nearest = { left, at, throttled: meter.throttled };
      return;
    }
    const since = at - this.#nearest.at;
    const [what, hint] = this.#describe(left, this.#nearest, since);
    if (since >= patienceMs)
      throw operationsError('too-slow', what, { hint: `${hint} Then run the command again: it resumes.` });
    warn(`${what}\n  ${hint}`);
  }

  #describe(left: number, before: { left: number; throttled: number }, since: number): [what: string, hint: string] {
    const { from, into, meter } = this.#options;
    const throttled = meter.throttled - before.throttled;
    const what =
      `${into} does not catch up with ${from.id}: ${plural(left, 'transaction')} left, ` +
      `${before.left.toLocaleString('en-US')} ${Math.round(since / 1_000)} s ago`;
    return throttled > 0
      ? [
          `${what}; ${into} throttled ${plural(throttled, 'request')} since`,
          `Give ${into} more RU/s, or write less to ${from.id} meanwhile.`,
        ]
      : [
          `${what}; nothing was throttled`,
          `Run the migration nearer to the account or on a faster machine, or write less to ${from.id} meanwhile.`,
        ];
  }

  /** The most transactions that can be left after the positions; undefined if the lag of a range is unknown. */
  async #left(positions: readonly RangePosition[]): Promise<number | undefined> {
    const { from, rid, clock } = this.#options;
    const estimator = new LagEstimator({ container: from, rid, start: 'beginning', clock });
    const { ranges } = await Partitions.read(from);
    const lags = await Promise.all(
      ranges.map((range) => estimator.lagOf({ range, position: positionIn(range, positions) })),
    );
    return lags.reduce<number | undefined>(
      (sum, lag) => (sum === undefined || !lag.known ? undefined : sum + lag.changes),
      0,
    );
  }
}
