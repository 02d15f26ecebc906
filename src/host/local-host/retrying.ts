import { type Clock, systemClock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { TriggerRetryOptions } from './core.ts';

export interface TriggerDelivery {
  /** The function's name. */
  readonly name: string;
  readonly retry: TriggerRetryOptions | undefined;
  /** The delivered batch, for messages: `12 documents`. */
  readonly what: string;
}

export interface RetryingOptions {
  readonly say: (line: string) => void;
  /** Aborted when the host ends. */
  readonly signal: AbortSignal;
  readonly clock?: Clock;
}

/**
 * Runs a function on a batch like the Functions host: retries by the function's retry policy. After the last retry, or
 * without a policy, the batch is lost. Rejects when the host ends.
 */
export async function retrying(
  { name, retry, what }: TriggerDelivery,
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
        const why = retry ? '' : ': the function has no retry policy';
        say(`${name}: ${messageOf(error)}; ${what} LOST, as in Azure${why}`);
        return;
      }
      const pause = pauseOf(retry, attempt);
      say(`${name}: ${messageOf(error)}; retry in ${pause / 1000} s`);
      await clock.sleep(pause, signal);
    }
  }
}

function pauseOf(retry: TriggerRetryOptions | undefined, attempt: number): number {
  if (retry?.retryStrategy === 'exponentialBackoff') {
    const [least, most] = [retry.minimumInterval?.seconds ?? 1, retry.maximumInterval?.seconds ?? 60];
    return 1000 * Math.min(most, least * 2 ** attempt);
  }
  return 1000 * (retry?.delayInterval?.seconds ?? 1);
}
