import { type Clock, systemClock } from '../base/clock.ts';

/** Bulk work (rebuilds, replays, migrations) spends only what live changes leave. */
export type Lane = 'live' | 'bulk';

/** Leave to send one request. Whoever has it says what became of it, or the next ones wait for nothing. */
export interface Grant {
  /** RU charged; `throttled`: the service answered 429. */
  settle(charge: number, throttled?: boolean): void;
}

/** Share of a second's worth that bulk work leaves in the bucket for a live request that may come. */
const RESERVE = 0.25;
/** Additive increase, multiplicative decrease: a 429 takes 30 % of the rate, each second without one gives 5 % back. */
const DECREASE = 0.7;
const INCREASE = 0.05;
const LEAST = 0.1;
/** How much the newest charge counts in what the next request is expected to cost. */
const NEWEST = 0.2;

interface Bucket {
  /** Left to spend; below 0 where requests cost more than was expected of them. */
  ru: number;
  /** When it was last filled, monotonic. */
  at: number;
  /** RU/s at present: the budget, or less while the service throttles. */
  rate: number;
  decreasedAt: number;
  /** What the next request is expected to cost, RU. */
  expected: number;
  liveWaiting: number;
}

/**
 * What this process may spend of each physical partition: one token bucket a partition, shared by whoever reads and
 * writes there. A request's charge is known only afterwards, so its expected charge is taken before and put right then;
 * a bucket may be overdrawn, and the next wait until that is made good.
 */
export class Budget {
  readonly #ruPerSecond: number;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  /** `ruPerSecond` for each physical partition. A second's worth may be saved up. */
  constructor(ruPerSecond: number, clock: Clock = systemClock) {
    this.#ruPerSecond = ruPerSecond;
    this.#clock = clock;
  }

  /**
   * Resolves when the request may be sent.
   * @param partition a name for the physical partition, the same for all who use it
   */
  async take(partition: string, lane: Lane, signal?: AbortSignal): Promise<Grant> {
    const bucket = this.#bucket(partition);
    if (lane === 'live') bucket.liveWaiting += 1;
    try {
      for (;;) {
        this.#fill(bucket);
        const wait = this.#msUntil(bucket, lane);
        if (wait === 0) break;
        await this.#clock.sleep(wait, signal);
      }
    } finally {
      if (lane === 'live') bucket.liveWaiting -= 1;
    }
    const expected = bucket.expected;
    bucket.ru -= expected;
    return { settle: (charge, throttled = false) => this.#settle(bucket, expected, charge, throttled) };
  }

  /** RU/s of a partition at present. */
  rateOf(partition: string): number {
    const bucket = this.#bucket(partition);
    this.#fill(bucket);
    return bucket.rate;
  }

  #msUntil({ ru, rate, liveWaiting }: Bucket, lane: Lane): number {
    const wanted = lane === 'live' ? 0 : RESERVE * rate;
    if (ru > wanted && (lane === 'live' || liveWaiting === 0)) return 0;
    return Math.max(1, Math.ceil(((wanted - ru) / rate) * 1_000) + 1);
  }

  #settle(bucket: Bucket, expected: number, charge: number, throttled: boolean): void {
    this.#fill(bucket);
    bucket.ru += expected - charge;
    if (!throttled) bucket.expected += NEWEST * (charge - bucket.expected);
    // One throttled second is one decrease, however many requests were under way in it.
    else if (bucket.at - bucket.decreasedAt >= 1_000) {
      bucket.rate = Math.max(LEAST * this.#ruPerSecond, DECREASE * bucket.rate);
      bucket.ru = Math.min(bucket.ru, 0);
      bucket.decreasedAt = bucket.at;
    }
  }

  #fill(bucket: Bucket): void {
    const now = this.#clock.monotonic();
    const seconds = (now - bucket.at) / 1_000;
    bucket.rate = Math.min(this.#ruPerSecond, bucket.rate + INCREASE * this.#ruPerSecond * seconds);
    bucket.ru = Math.min(bucket.rate, bucket.ru + seconds * bucket.rate);
    bucket.at = now;
  }

  #bucket(partition: string): Bucket {
    const known = this.#buckets.get(partition);
    if (known) return known;
    const at = this.#clock.monotonic();
    const full = { ru: this.#ruPerSecond, rate: this.#ruPerSecond };
    const created = { ...full, at, decreasedAt: -Infinity, expected: 1, liveWaiting: 0 };
    this.#buckets.set(partition, created);
    return created;
  }
}
