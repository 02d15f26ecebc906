import { type Clock, systemClock } from '../../base/clock.ts';
import { FairQueue } from './fair-queue.ts';

/** `bulk` work (rebuilds, replays, migrations) spends only the RU that `live` changes leave. */
export type Lane = 'live' | 'bulk';

/** Permission to send one request. The holder must call `account`; otherwise later requests wait for too long. */
export interface Grant {
  /** `charge`: the RU of the answer; undefined: there was none that names a charge. `throttled`: the service answered 429. */
  account(charge: number | undefined, throttled?: boolean): void;
  /** The service answered 429, and the holder sends the request again by this grant. */
  throttled(): void;
}

/** The part of the budget that this process may spend, where several processes share it (`split.ts`). */
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
/** The longest wait until somebody looks again: a share may change meanwhile. */
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
  readonly waiting: Readonly<Record<Lane, Waiting>>;
  /** The lanes whose waiting requests are being served. */
  readonly served: Set<Lane>;
}

type Waiting = FairQueue<PromiseWithResolvers<Grant>>;

/**
 * The RU that this process may spend on each physical partition: one token bucket for each partition, which all its
 * readers and writers share. The charge of a request is known only from its answer. So `take` subtracts the expected
 * charge, and `account` corrects it. A bucket may fall below 0; the next requests wait until it is above.
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
   * Resolves when the request may be sent. Requests that wait in one lane are served in turns by tenant (BUD-B8).
   * @param partition a name for the physical partition, the same for all its users
   * @param tenant whose request it is; absent: that of no tenant, or of several
   */
  async take(partition: string, lane: Lane, signal?: AbortSignal, tenant?: string): Promise<Grant> {
    const bucket = this.#bucket(partition);
    this.#share.want(lane, false);
    const queue = bucket.waiting[lane];
    this.#fill(bucket);
    if (queue.isEmpty && this.#msUntil(bucket, lane) === 0) {
      queue.forget();
      return this.#grant(partition, lane, tenant);
    }
    signal?.throwIfAborted();
    const wait = Promise.withResolvers<Grant>();
    const leave = queue.add(tenant, wait);
    const abort = (): void => {
      leave();
      wait.reject(signal?.reason);
    };
    signal?.addEventListener('abort', abort);
    if (!bucket.served.has(lane)) void this.#serve(partition, lane);
    return wait.promise.finally(() => signal?.removeEventListener('abort', abort));
  }

  /** Serves the requests that wait in a lane, until none does. Never rejects. */
  async #serve(partition: string, lane: Lane): Promise<void> {
    const bucket = this.#bucket(partition);
    const queue = bucket.waiting[lane];
    bucket.served.add(lane);
    try {
      while (!queue.isEmpty) {
        this.#fill(bucket);
        const ms = this.#msUntil(bucket, lane);
        if (ms === 0) {
          const waiter = queue.next();
          waiter?.thing.resolve(this.#grant(partition, lane, waiter.tenant));
        } else {
          this.#share.want(lane, true);
          // Not longer: those who wait may be gone.
          await this.#clock.sleep(Math.min(ms, LOOK_MS));
        }
      }
    } catch (error) {
      for (const { thing } of queue.all()) thing.reject(error);
    } finally {
      bucket.served.delete(lane);
    }
  }

  #grant(partition: string, lane: Lane, tenant: string | undefined): Grant {
    const bucket = this.#bucket(partition);
    const queue = bucket.waiting[lane];
    const { expected } = bucket;
    const levels = lane === 'live' ? [bucket.all] : [bucket.all, bucket.bulk];
    for (const level of levels) level.ru -= expected;
    queue.spend(tenant, expected);
    const throttled = (): void => {
      this.#fill(bucket);
      // The 429 of a live request is everybody's: the partition has nothing left.
      for (const level of lane === 'live' ? [bucket.all, bucket.bulk] : [bucket.bulk]) level.decrease();
    };
    return {
      throttled,
      account: (charge, wasThrottled = false) => {
        this.#fill(bucket);
        for (const level of levels) level.ru += expected - (charge ?? 0);
        queue.spend(tenant, (charge ?? 0) - expected);
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

  #msUntil({ all, bulk, waiting }: Bucket, lane: Lane): number {
    const limit = this.#limit();
    if (limit === 0) return LOOK_MS;
    const rate = limit * all.part;
    const until = (wanted: number, ru: number, by: number): number =>
      ru > wanted ? 0 : Math.max(1, Math.ceil(((wanted - ru) / by) * 1_000) + 1);
    if (lane === 'live') return until(0, all.ru, rate);
    const wait = Math.max(until(RESERVE * rate, all.ru, rate), until(0, bulk.ru, limit * bulk.part));
    return waiting.live.isEmpty ? wait : Math.max(1, wait);
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
    const waiting: Bucket['waiting'] = { live: new FairQueue(), bulk: new FairQueue() };
    const created: Bucket = { all: level(), bulk: level(), expected: 1, waiting, served: new Set() };
    this.#buckets.set(partition, created);
    return created;
  }
}
