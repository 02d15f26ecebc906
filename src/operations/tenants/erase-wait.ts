import type { Container } from '@azure/cosmos';
import type { Clock } from '../../base/clock.ts';
import type { ErasureRecord } from '../../engine/erasures/record.ts';
import { stopBoundMs } from '../../engine/erasures/stop.ts';
import { type Running, readRunning } from '../running.ts';

export interface WaitOptions {
  readonly state: Container;
  /** How old a read may be, milliseconds (ASM-A3). */
  readonly readLagMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called while it waits: the seconds that are left at least, and the operations that have to end. */
  readonly waiting?: (seconds: number, operations: readonly string[]) => void;
}

/** They write no document, or are the caller. */
const NOT_WAITED_FOR = new Set([
  'archive verify',
  'projections verify',
  'tenants list',
  'tenants export',
  'tenants erase',
]);
const LOOK_MS = 5_000;

/**
 * Resolves when no process acts any more on what it read before this call (ERASE-S7, ERASE-S8): hosts after the bound, and
 * long operations, which have none, when they have ended. Counts by this process's clock alone, from now: what began the
 * wait before, and died, says nothing about when its write took effect.
 */
export async function untilPassed({ state, readLagMs, clock, signal, waiting }: WaitOptions): Promise<void> {
  const end = clock.monotonic() + stopBoundMs(readLagMs);
  const left = (): number => Math.max(0, Math.ceil((end - clock.monotonic()) / 1_000));
  waiting?.(left(), []);
  // An operation that begins after the read lag sees what was written. After another one its note is seen here.
  await clock.sleep(2 * readLagMs, signal);
  const before = await writing(state, signal);
  for (;;) {
    const now = new Set((await writing(state, signal)).map(({ id }) => id));
    const open = before.filter(({ id }) => now.has(id));
    if (open.length === 0 && left() === 0) return;
    waiting?.(
      left(),
      open.map(({ verb, actor, since }) => `${verb} of ${actor} since ${since}`),
    );
    await clock.sleep(open.length > 0 ? LOOK_MS : Math.max(1, end - clock.monotonic()), signal);
  }
}

/**
 * For the first step of an erasure: resolves when no process applies a change of the tenant that it read before the record.
 * A record that is not `stopping` any more has been waited for.
 */
export const stopped =
  (options: Omit<WaitOptions, 'signal'>) =>
  async ({ state }: ErasureRecord, signal: AbortSignal): Promise<void> => {
    if (state === 'stopping') await untilPassed({ ...options, signal });
  };

/** Also those that look dead: clocks differ. The note of a dead one expires after three minutes. */
const writing = async (state: Container, signal: AbortSignal): Promise<Running[]> =>
  (await readRunning(state, signal, -Infinity)).filter(({ verb }) => !NOT_WAITED_FOR.has(verb));
