import { type Clock, systemClock } from '../base/clock.ts';

/** `bulk` work (rebuilds, replays, migrations) spends only the RU that `live` changes leave. */
export type Lane = 'live' | 'bulk';

/** Permission to send one request. The holder must call `settle`; otherwise later requests wait for too long. */
export interface Grant {
  /** `charge`: the RU of the answer. `throttled`: the service answered 429. */
  settle(charge: number, throttled?: boolean): void;
}

/** Share of one second's RU that bulk work leaves in the bucket for the next live request. */
const RESERVE = 0.25;
/** Additive increase, multiplicative decrease: a 429 takes 30 % of the rate, each second without one gives 5 % back. */
const DECREASE = 0.7;
const INCREASE = 0.05;
const LEAST = 0.1;
/** Weight of the newest charge in the expected cost of the next request. */
const NEWEST = 0.2;

interface Bucket {
  /** RU left to spend. Negative if requests cost more than expected. */
  ru: number;
  /** When the bucket was last filled, monotonic. */
  at: number;
  /** RU/s now: the budget, or less while the service throttles. */
  rate: number;
  decreasedAt: number;
  /** Expected cost of the next request, RU. */
  expected: number;
  liveWaiting: number;
}

/**
 * The RU that this process may spend on each physical partition: one token bucket for each partition, which all its
 * readers and writers share. The charge of a request is known only from its answer. So `take` subtracts the expected
 * charge, and `settle` corrects it. A bucket may fall below 0; the next requests wait until it is above.
 */
export class Budget {
  readonly #ruPerSecond: number;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  /** `ruPerSecond`: for each physical partition. An idle partition saves up the RU of one second at most. */
  constructor(ruPerSecond: number, clock: Clock = systemClock) {
    this.#ruPerSecond = ruPerSecond;
    this.#clock = clock;
  }

  /**
   * Resolves when the request may be sent.
   * @param partition a name for the physical partition, the same for all its users
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

  /** RU/s of a partition now. */
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
    // At most one decrease a second, however many requests were throttled in it.
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
