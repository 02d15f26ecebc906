import { WRITE_BOUND_MS } from '../../base/bounds.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import type { Fence } from './fence.ts';
import { PageTooOld } from './lease-session.ts';

/**
 * For work that no lease covers and whose every write is decided on what was just read, so that two hosts at it are
 * harmless: it may take as long as it takes. What shares a signal is one tenure. `or` may throw as well.
 */
export const untilStopped = (signal: AbortSignal, or: () => void = () => undefined): Fence => ({
  kind: 'host',
  tenure: signal,
  signal,
  assert: () => {
    signal.throwIfAborted();
    or();
  },
});

/**
 * For what is written on account of something read at `readAt`, monotonic: it begins no write later than R0 allows. Each is
 * a tenure of its own, as all batches of a Functions host may share its signal.
 */
export const whileFresh = (
  readAt: number,
  signal: AbortSignal,
  { clock = systemClock, stale = () => new PageTooOld() }: { clock?: Clock; stale?: () => Error } = {},
): Fence => ({
  ...untilStopped(signal, () => {
    if (clock.monotonic() - readAt > WRITE_BOUND_MS) throw stale();
  }),
  tenure: {},
});
