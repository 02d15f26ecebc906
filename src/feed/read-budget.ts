import { type Clock, systemClock } from '../base/clock.ts';
import { type FeedRange, rangeId } from '../cosmos/ranges.ts';

interface Bucket {
  ru: number;
  at: number;
}

/**
 * A token bucket a feed range, so that reading leaves the rest of a physical partition's throughput to others. A page's
 * charge is known only afterwards: it may overdraw the bucket, and the next read waits until that is made good. A lease
 * covers one physical partition (after a merge a part of one), so hosts need not talk about it.
 */
export class ReadBudget {
  readonly #ruPerSecond: number;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  /** `ruPerSecond` for each physical partition. A second's worth may be saved up. */
  constructor(ruPerSecond: number, clock: Clock = systemClock) {
    this.#ruPerSecond = ruPerSecond;
    this.#clock = clock;
  }

  /** Resolves when there is something to spend. */
  async take(range: FeedRange, signal: AbortSignal): Promise<void> {
    for (;;) {
      const { ru } = this.#filled(range);
      if (ru > 0) return;
      await this.#clock.sleep(Math.ceil((-ru / this.#ruPerSecond) * 1_000) + 1, signal);
    }
  }

  settle(range: FeedRange, charge: number): void {
    this.#filled(range).ru -= charge;
  }

  #filled(range: FeedRange): Bucket {
    const now = this.#clock.monotonic();
    const bucket = this.#buckets.get(rangeId(range)) ?? { ru: this.#ruPerSecond, at: now };
    bucket.ru = Math.min(this.#ruPerSecond, bucket.ru + ((now - bucket.at) / 1_000) * this.#ruPerSecond);
    bucket.at = now;
    this.#buckets.set(rangeId(range), bucket);
    return bucket;
  }
}
