import { type Clock, systemClock } from '../base/clock.ts';

/** `bulk` work (rebuilds, replays, migrations) spends only the RU that `live` changes leave. */
export type Lane = 'live' | 'bulk';

/** Permission to send one request. The holder must call `settle`; otherwise later requests wait for too long. */
export interface Grant {
  /** `charge`: the RU of the answer; undefined: there was none that names a charge. `throttled`: the service answered 429. */
  settle(charge: number | undefined, throttled?: boolean): void;
  /** The service answered 429, and the holder sends the request again by this grant. */
  throttled(): void;
}

/** The part of the budget that this process may spend, where several processes share it (`shares.ts`). */
export interface Share {
  /** From 0 to 1, now. */
  now(): number;
  /** Notes that a request wants to be sent; `waits`: it had to wait. */
  want(lane: Lane, waits: boolean): void;
  /** Notes what a request has cost on one partition. */
  spent(lane: Lane, partition: string, charge: number): void;
}

const WHOLE: Share = { now: () => 1, want: () => undefined, spent: () => undefined };

/** Share of one second's RU that bulk work leaves for the next live request. */
const RESERVE = 0.25;
/** Additive increase, multiplicative decrease: a 429 takes 30 % of the rate, each second without one gives 5 % back. */
const DECREASE = 0.7;
const INCREASE = 0.05;
const LEAST = 0.1;
/** Weight of the newest charge in the expected cost of the next request. */
const NEWEST = 0.2;
/** The longest wait until a request looks again whether the process has a share. */
const LOOK_MS = 250;

/** A rate that 429s lower, and the RU that were saved up by it. */
class Level {
  /** RU left to spend. Negative if requests cost more than expected. */
  ru: number;
  /** Of the limit: 1, or less while the service throttles. */
  part = 1;
  #at: number;
  #decreasedAt = -Infinity;

  constructor(limit: number, at: number) {
    this.ru = limit;
    this.#at = at;
  }

  fill(limit: number, now: number): void {
    const seconds = (now - this.#at) / 1_000;
    this.part = Math.min(1, this.part + INCREASE * seconds);
    const rate = limit * this.part;
    this.ru = Math.min(rate, this.ru + seconds * rate);
    this.#at = now;
  }

  /** At most once a second, however many requests were throttled in it. */
  decrease(): void {
    if (this.#at - this.#decreasedAt < 1_000) return;
    this.part = Math.max(LEAST, DECREASE * this.part);
    this.ru = Math.min(this.ru, 0);
    this.#decreasedAt = this.#at;
  }
}

interface Bucket {
  readonly all: Level;
  /** Bulk work keeps to both. The service may throttle it alone, because its requests are marked (ADR 29). */
  readonly bulk: Level;
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
  readonly #share: Share;
  readonly #buckets = new Map<string, Bucket>();

  /**
   * `ruPerSecond`: for each physical partition. An idle partition saves up the RU of one second at most. `share`: what
   * part of that is this process's; default: all of it.
   */
  constructor(ruPerSecond: number, clock: Clock = systemClock, share: Share = WHOLE) {
    this.#ruPerSecond = ruPerSecond;
    this.#clock = clock;
    this.#share = share;
  }

  /**
   * Resolves when the request may be sent.
   * @param partition a name for the physical partition, the same for all its users
   */
  async take(partition: string, lane: Lane, signal?: AbortSignal): Promise<Grant> {
    const bucket = this.#bucket(partition);
    this.#share.want(lane, false);
    if (lane === 'live') bucket.liveWaiting += 1;
    try {
      for (;;) {
        this.#fill(bucket);
        const wait = this.#msUntil(bucket, lane);
        if (wait === 0) break;
        this.#share.want(lane, true);
        await this.#clock.sleep(wait, signal);
      }
    } finally {
      if (lane === 'live') bucket.liveWaiting -= 1;
    }
    const { expected } = bucket;
    const levels = lane === 'live' ? [bucket.all] : [bucket.all, bucket.bulk];
    for (const level of levels) level.ru -= expected;
    const throttled = (): void => {
      this.#fill(bucket);
      // The 429 of a live request is everybody's: the partition has nothing left.
      for (const level of lane === 'live' ? [bucket.all, bucket.bulk] : [bucket.bulk]) level.decrease();
    };
    return {
      throttled,
      settle: (charge, wasThrottled = false) => {
        this.#fill(bucket);
        for (const level of levels) level.ru += expected - (charge ?? 0);
        if (charge !== undefined) {
          bucket.expected += NEWEST * (charge - bucket.expected);
          this.#share.spent(lane, partition, charge);
        }
        if (wasThrottled) throttled();
      },
    };
  }

  /** RU/s of a partition now, in a lane. */
  rateOf(partition: string, lane: Lane = 'live'): number {
    const bucket = this.#bucket(partition);
    this.#fill(bucket);
    const part = lane === 'live' ? bucket.all.part : Math.min(bucket.all.part, bucket.bulk.part);
    return this.#limit() * part;
  }

  #limit(): number {
    return this.#ruPerSecond * this.#share.now();
  }

  #msUntil({ all, bulk, liveWaiting }: Bucket, lane: Lane): number {
    const limit = this.#limit();
    // A share may change meanwhile.
    const longest = this.#share === WHOLE ? Infinity : LOOK_MS;
    if (limit === 0) return LOOK_MS;
    const rate = limit * all.part;
    const until = (wanted: number, ru: number, by: number): number =>
      ru > wanted ? 0 : Math.max(1, Math.ceil(((wanted - ru) / by) * 1_000) + 1);
    if (lane === 'live') return Math.min(longest, until(0, all.ru, rate));
    const wait = Math.max(until(RESERVE * rate, all.ru, rate), until(0, bulk.ru, limit * bulk.part));
    return Math.min(longest, liveWaiting > 0 ? Math.max(1, wait) : wait);
  }

  #fill({ all, bulk }: Bucket): void {
    const now = this.#clock.monotonic();
    const limit = this.#limit();
    for (const level of [all, bulk]) level.fill(limit, now);
  }

  #bucket(partition: string): Bucket {
    const known = this.#buckets.get(partition);
    if (known) return known;
    const at = this.#clock.monotonic();
    const level = (): Level => new Level(this.#limit(), at);
    const created: Bucket = { all: level(), bulk: level(), expected: 1, liveWaiting: 0 };
    this.#buckets.set(partition, created);
    return created;
  }
}
