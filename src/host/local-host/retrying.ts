import { type Clock, systemClock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { RetryOptions } from './core.ts';

export interface Batch {
  readonly name: string;
  readonly retry: RetryOptions | undefined;
  /** What it holds, for what is said of it: `12 documents`. */
  readonly what: string;
}

export interface RetryingOptions {
  readonly say: (line: string) => void;
  /** Aborted when the host ends. */
  readonly signal: AbortSignal;
  readonly clock?: Clock;
}

/**
 * Runs a function on a batch as the host does: tried again by the function's policy, and where that gives up, or there is
 * none, passed by. Rejects when the host ends.
 */
export async function retrying(
  { name, retry, what }: Batch,
  { say, signal, clock = systemClock }: RetryingOptions,
  once: (retryCount: number) => Promise<void>,
): Promise<void> {
  const most = retry?.maxRetryCount ?? 0;
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted();
    try {
      await once(attempt);
      return;
    } catch (error) {
      if (signal.aborted) throw error;
      if (most >= 0 && attempt >= most) {
        const why = retry ? '' : ': it has no retry policy';
        say(`${name}: ${messageOf(error)}; ${what} LOST, as in Azure${why}`);
        return;
      }
      const pause = pauseOf(retry, attempt);
      say(`${name}: ${messageOf(error)}; tried again in ${pause / 1000} s`);
      await clock.sleep(pause, signal);
    }
  }
}

function pauseOf(retry: RetryOptions | undefined, attempt: number): number {
  if (retry?.retryStrategy === 'exponentialBackoff') {
    const [least, most] = [retry.minimumInterval?.seconds ?? 1, retry.maximumInterval?.seconds ?? 60];
    return 1000 * Math.min(most, least * 2 ** attempt);
  }
  return 1000 * (retry?.delayInterval?.seconds ?? 1);
}
