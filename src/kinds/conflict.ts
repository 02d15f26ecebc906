import { systemClock } from '../base/clock.ts';
import { sharedError } from '../base/shared-errors.ts';

/** Conditional writes that may fail in a row. Others must be making progress then, so the page is read again. */
const PATIENCE = 50;

/**
 * Repeats `attempt` until it returns true. A condition of its write failed before, so each repetition reads and decides
 * again. From the third attempt on it waits a little, so that hosts that write to one group don't starve each other.
 * @throws MillraceError retryable `contended`
 */
export async function untilDone(what: string, attempt: (first: boolean) => Promise<boolean>): Promise<void> {
  for (let tries = 1; tries <= PATIENCE; tries++) {
    if (await attempt(tries === 1)) return;
    if (tries > 2) await systemClock.sleep(Math.random() * Math.min(200, 2 ** Math.min(tries, 8)));
  }
  throw sharedError('contended', `${what}: other writers changed it ${PATIENCE} times in a row`);
}
