import { MillraceError, abortReason, messageOf } from '../base/errors.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { type Failure, failureOf } from './failure.ts';
import type { Meter } from './meter.ts';

export interface RetryOptions {
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  readonly meter?: Meter;
  /** True: the call changes nothing, so an ambiguous outcome is simply asked again. */
  readonly reads: boolean;
  /** Called before every attempt; throws when the caller may no longer act (a fence). */
  readonly before?: () => void;
  /** Gives up after this long. Default 60 s. */
  readonly withinMs?: number;
}

/** The request may or may not have taken effect: read again and compare before doing anything else (A5). */
export class AmbiguousOutcome extends MillraceError<'ambiguous-outcome'> {
  constructor(cause: unknown) {
    super('ambiguous-outcome', `The outcome of a write is unknown: ${messageOf(cause)}`, { cause, retryable: true });
  }
}

/** Cosmos DB could not be reached or kept throttling for longer than the caller was willing to wait. */
export class Unavailable extends MillraceError<'unavailable'> {
  constructor(message: string, cause: unknown) {
    super('unavailable', message, {
      cause,
      retryable: true,
      mend: 'Check that the account is reachable and has enough throughput (429s in its metrics).',
    });
  }
}

/**
 * Sends a request until it is answered. The SDK retries 429 for a while and nothing else that matters (449, 408, 5xx),
 * so its retries are switched off in `connect` and all of them are here. Answers (404, 409, 412, 400 …) are thrown as
 * the SDK threw them; `failureOf` reads them.
 */
export async function withRetry<T>(call: () => Promise<T>, options: RetryOptions): Promise<T> {
  const clock = options.clock ?? systemClock;
  const start = clock.monotonic();
  for (let attempt = 1; ; attempt++) {
    options.before?.();
    try {
      return await call();
    } catch (error) {
      const failure = failureOf(error);
      const again =
        failure.kind === 'throttled' ||
        failure.kind === 'unreachable' ||
        (failure.kind === 'ambiguous' && options.reads);
      if (failure.kind === 'throttled' && options.meter) options.meter.throttled += 1;
      if (failure.kind === 'ambiguous' && !options.reads) throw new AmbiguousOutcome(error);
      if (!again) throw error;
      if (clock.monotonic() - start > (options.withinMs ?? 60_000)) {
        throw new Unavailable(`Gave up after ${attempt} attempts: ${failure.message}`, error);
      }
      await pause(failure, attempt, clock, options.signal);
    }
  }
}

async function pause(failure: Failure, attempt: number, clock: Clock, signal: AbortSignal | undefined): Promise<void> {
  const backoff = Math.min(2_000, 10 * 2 ** Math.min(attempt, 8)) * (0.5 + Math.random());
  try {
    await clock.sleep(failure.retryAfterMs ?? backoff, signal);
  } catch {
    throw signal ? abortReason(signal) : new MillraceError('aborted', 'The wait was aborted');
  }
}
