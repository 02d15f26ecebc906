import { AsyncLocalStorage } from 'node:async_hooks';
import { MillraceError, abortReason, messageOf } from '../base/errors.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { type Failure, failureOf } from './failure.ts';
import { COSMOS_ERRORS } from './errors.ts';
import type { Meter } from './budget/charge-meter.ts';
import { until } from '../base/until.ts';
import { SHARED_ERRORS, sharedError } from '../base/shared-errors.ts';

export interface RetryOptions {
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  readonly meter?: Meter;
  /** True: the call changes nothing, or may be repeated, so `withRetry` sends it again after an unknown outcome. */
  readonly reads: boolean;
  /** Called before every attempt. Throws when the caller may no longer act (a fence). */
  readonly before?: () => void;
  /** Called for each 429. */
  readonly throttled?: (() => void) | undefined;
  /** Gives up after this long. Default 60 s. */
  readonly withinMs?: number;
}

/** The write may have taken effect, or not. Read again and compare before any other step (ASM-A5). */
export class AmbiguousOutcome extends MillraceError<'ambiguous-outcome'> {
  constructor(cause: unknown) {
    super('ambiguous-outcome', `The outcome of a write is unknown: ${messageOf(cause)}`, {
      ...COSMOS_ERRORS['ambiguous-outcome'],
      cause,
    });
  }
}

/** Cosmos DB was unreachable, or throttled every attempt, for longer than the caller wanted to wait. */
export class Unavailable extends MillraceError<'unavailable'> {
  constructor(message: string, cause: unknown) {
    super('unavailable', message, { ...SHARED_ERRORS.unavailable, cause });
  }
}

/** For those who wait for a person's answer. */
const IMPATIENT_MS = 20_000;
const impatience = new AsyncLocalStorage<{ since: number | undefined }>();

/**
 * Requests of `work` give up together once none of them has had an answer for 20 s: refused by 429, without a connection or
 * without an end.
 */
export const impatiently = <T>(work: () => Promise<T>): Promise<T> => impatience.run({ since: undefined }, work);

/**
 * Sends a request until it gets an answer. The SDK retries 429 for a while, but not 449, 408 or 5xx. So `connect`
 * switches its retries off, and all retries are here. Error answers (404, 409, 412, 400 …) are thrown as the SDK threw
 * them; `failureOf` reads them.
 */
export async function withRetry<T>(call: () => Promise<T>, options: RetryOptions): Promise<T> {
  const clock = options.clock ?? systemClock;
  const start = clock.monotonic();
  const shared = impatience.getStore();
  for (let attempt = 1; ; attempt++) {
    options.before?.();
    try {
      if (!shared) return await call();
      shared.since ??= clock.monotonic();
      const answer = await until(call(), AbortSignal.timeout(IMPATIENT_MS + 100));
      shared.since = undefined;
      return answer;
    } catch (error) {
      const failure = failureOf(error);
      const again =
        failure.kind === 'throttled' ||
        failure.kind === 'unreachable' ||
        (failure.kind === 'ambiguous' && options.reads);
      if (failure.kind === 'throttled') {
        if (options.meter) options.meter.throttled += 1;
        options.throttled?.();
      }
      if (failure.kind === 'ambiguous' && !options.reads) throw new AmbiguousOutcome(error);
      if (!again) {
        if (shared) shared.since = undefined;
        throw error;
      }
      const now = clock.monotonic();
      const isOver = shared && now - (shared.since ?? now) >= IMPATIENT_MS;
      if (isOver || now - start > (options.withinMs ?? 60_000))
        throw new Unavailable(
          `Gave up after ${attempt} attempts in ${Math.round((now - start) / 1_000)} s${whyOf(failure)}`,
          error,
        );
      await pause(failure, attempt, clock, options.signal);
    }
  }
}

const whyOf = ({ status, message }: Failure): string =>
  status === 429 ? `, because Cosmos DB answers 429: its throughput is used up. ${message}` : `: ${message}`;

async function pause(failure: Failure, attempt: number, clock: Clock, signal: AbortSignal | undefined): Promise<void> {
  const backoff = Math.min(2_000, 10 * 2 ** Math.min(attempt, 8)) * (0.5 + Math.random());
  try {
    await clock.sleep(failure.retryAfterMs ?? backoff, signal);
  } catch {
    throw signal ? abortReason(signal) : sharedError('aborted', 'The wait was aborted');
  }
}
