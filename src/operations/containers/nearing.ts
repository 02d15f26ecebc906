import type { Container } from '@azure/cosmos';
import type { Clock } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';
import type { Meter } from '../../cosmos/meter.ts';
import { LagEstimator } from '../../feed/processor/estimator.ts';
import { Partitions } from '../../feed/leases/partitions.ts';
import { type RangePosition, positionIn } from '../../feed/reading/position.ts';
import { plural } from '../table.ts';

/** Between two looks at how much is left: two requests a physical partition each. */
const LOOK_MS = 60_000;

export interface NearingOptions {
  /** The container that is copied from, and its `_rid`. */
  readonly from: Container;
  readonly rid: string;
  /** The container that is copied to. */
  readonly into: string;
  /** Counts what the target refuses for want of throughput. */
  readonly meter: Meter;
  readonly clock: Clock;
  /** Hears once a look that the end has not come nearer, why, and what mends it. */
  readonly warn: (text: string) => void;
  /** How long it may come no nearer, milliseconds; absent: for ever. */
  readonly patienceMs?: number | undefined;
}

/** A copy that follows a feed: whether it gains on those who write it. */
export class Nearing {
  readonly #options: NearingOptions;
  #looked: number;
  /** The look that found least left. */
  #nearest: { readonly left: number; readonly at: number; readonly throttled: number } | undefined;

  constructor(options: NearingOptions) {
    this.#options = options;
    this.#looked = options.clock.monotonic();
  }

  /**
   * To be called after each large page with where the ranges stand; looks once a minute.
   * @throws MillraceError `migrate-no-nearer` once patience is at its end
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
    const [what, mend] = this.#told(left, this.#nearest, since);
    if (since >= patienceMs) {
      throw new MillraceError('migrate-no-nearer', what, {
        retryable: true,
        mend: `${mend} Run it again then: it goes on where it was.`,
      });
    }
    warn(`${what}\n  ${mend}`);
  }

  #told(left: number, before: { left: number; throttled: number }, since: number): [what: string, mend: string] {
    const { from, into, meter } = this.#options;
    const throttled = meter.throttled - before.throttled;
    const what =
      `${into} comes no nearer to ${from.id}: ${plural(left, 'transaction')} left, ` +
      `${before.left.toLocaleString('en-US')} ${Math.round(since / 1_000)} s ago`;
    return throttled > 0
      ? [
          `${what}; ${into} throttled ${plural(throttled, 'request')} since`,
          `Give ${into} more RU/s, or let less be written to ${from.id} meanwhile.`,
        ]
      : [
          `${what}; nothing was throttled`,
          `Run it nearer to the account or on a quicker machine, or let less be written to ${from.id} meanwhile.`,
        ];
  }

  /** Transactions behind the positions, at most; undefined where a range can't tell. */
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
