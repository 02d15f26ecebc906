import { MillraceError } from '../base/errors.ts';
import { systemClock } from '../base/clock.ts';

/** Thrown when a conditional write lost this often: somebody else must be making progress, so the page is read again. */
const PATIENCE = 50;

/**
 * Repeats `attempt` until it says it is done: every repetition reads and decides anew, for a condition of its write
 * failed. Waits a little from the third time on, so that hosts working on one group don't starve each other.
 * @throws MillraceError retryable `contended`
 */
export async function untilDone(what: string, attempt: (first: boolean) => Promise<boolean>): Promise<void> {
  for (let tries = 1; tries <= PATIENCE; tries++) {
    if (await attempt(tries === 1)) return;
    if (tries > 2) await systemClock.sleep(Math.random() * Math.min(200, 2 ** Math.min(tries, 8)));
  }
  throw new MillraceError('contended', `${what} was changed by others ${PATIENCE} times in a row`, { retryable: true });
}
