import { WRITE_BOUND_MS } from '../../base/bounds.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import type { Fence } from './fence.ts';
import { PageTooOld } from './lease-tenure.ts';

/**
 * A fence without time limit, for work without a lease. Each write must depend on a read just before it, so that two hosts
 * can do the work at the same time. All fences of one signal are one tenure. `or` may throw as well.
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
 * A fence for writes that depend on a read at `readAt`, monotonic: it allows no write later than PROC-L13 does. Each fence
 * is a tenure of its own, because all batches of a Functions host may share one signal.
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
