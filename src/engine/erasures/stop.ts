// When it is sure that no process acts any more on what it read before a write (docs/SPEC-erase.md, "The wait").
import { LANDING_BOUND_MS, WRITE_BOUND_MS } from '../../base/bounds.ts';
import type { Clock } from '../../base/clock.ts';
import { VIEWS_REFRESH_MS } from '../views/view-control.ts';

/**
 * How long after a write no host acts any more on what it read before the write, and every read shows what it did,
 * milliseconds. A read may show the state before for the read lag. A host may use what it has read of the records for the
 * refresh. It begins its last request within the write bound, and that takes effect within the landing bound. Reads may
 * not show that for another read lag.
 */
export const stopBoundMs = (readLagMs: number): number =>
  2 * readLagMs + VIEWS_REFRESH_MS + WRITE_BOUND_MS + LANDING_BOUND_MS;

export interface PassOptions {
  /** The long operations that may write now, dead ones included for as long as no process knows that. May be stale. */
  readonly running: () => Promise<readonly LongOperation[]>;
  /** How old a read may be, milliseconds (ASM-A3). */
  readonly readLagMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called while it waits: the seconds that are left at least, and the operations that have to end. */
  readonly waiting?: ((seconds: number, operations: readonly string[]) => void) | undefined;
}

export interface LongOperation {
  readonly id: string;
  /** For people. */
  readonly what: string;
}

const LOOK_MS = 5_000;

/**
 * Resolves when no process acts any more on what it read before this call, and reads show what all of them did: hosts
 * after the bound, and long operations, which have none, when they have ended. Counts from now, by the clock of this
 * process alone: what began the wait before, and died, says nothing about when its write took effect.
 */
export async function untilQuiet({ running, readLagMs, clock, signal, waiting }: PassOptions): Promise<void> {
  const end = clock.monotonic() + stopBoundMs(readLagMs) - readLagMs;
  const left = (): number => Math.max(0, end - clock.monotonic());
  const say = (operations: readonly string[]): void => waiting?.(Math.ceil((left() + readLagMs) / 1_000), operations);
  say([]);
  // An operation that begins after the read lag sees what was written. Another lag later all others are seen here.
  await clock.sleep(2 * readLagMs, signal);
  const before = await running();
  for (;;) {
    const now = new Set((await running()).map(({ id }) => id));
    const open = before.filter(({ id }) => now.has(id));
    if (open.length === 0 && left() === 0) break;
    say(open.map(({ what }) => what));
    await clock.sleep(open.length > 0 ? LOOK_MS : left(), signal);
  }
  // Until reads show what came last.
  await clock.sleep(readLagMs, signal);
}
