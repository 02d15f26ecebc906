import type { Clock } from '../base/clock.ts';
import { emit } from '../base/diagnostics.ts';
import { abortReason } from '../base/errors.ts';
import type { Page } from './change.ts';
import type { Fence } from './fence.ts';
import { LeaseLost } from './lease.ts';
import type { LeaseSession } from './lease-session.ts';
import { type ChangeSource, RangeGone, type Start } from './source.ts';

export interface WorkerOptions {
  readonly container: string;
  readonly source: ChangeSource;
  /** Resolves when every change of the page is durable or parked; rejects for infrastructure alone. */
  readonly handle: (page: Page, fence: Fence) => Promise<void>;
  readonly start: Start;
  readonly pollMs: number;
  readonly clock: Clock;
}

export interface WorkerStatus {
  /** Position of the last page handed on and finished. */
  position: string | undefined;
  /** Since when the feed has had nothing new, monotonic; undefined while there is work. */
  idleSince: number | undefined;
  /** When the last read that found nothing new was begun, monotonic. */
  checkedAt: number | undefined;
  /** The last failure, until a page succeeds. */
  failure: unknown;
}

/**
 * Reads one range, page after page, one page ahead of the handler, and checkpoints behind it. Ends when `stop` is
 * aborted (after the page in hand), the lease is lost, or its range is no longer one partition (`split`: everything
 * handled is checkpointed). A failed page is read again after a while: nothing is skipped.
 */
export async function workLease(
  session: LeaseSession,
  options: WorkerOptions,
  status: WorkerStatus,
  stop: AbortSignal,
): Promise<'ended' | 'split'> {
  const { source, clock, handle } = options;
  const { range } = session.lease;
  const either = AbortSignal.any([stop, session.signal]);
  let position = session.lease.position ?? '';
  let ahead: Promise<Page & { next: string }> | undefined;
  let failures = 0;
  while (!either.aborted) {
    try {
      if (position === '' && options.start !== 'beginning') {
        position = await source.resolve(range, options.start, either);
        session.checkpoint(position);
        await session.settled();
      }
      const page = await until(ahead ?? source.read(range, position, either), either);
      ahead = undefined;
      session.progress();
      if (page.next === position) {
        status.idleSince ??= clock.monotonic();
        status.checkedAt = page.readAt;
        await clock.sleep(options.pollMs, either);
        continue;
      }
      status.idleSince = undefined;
      emit('feed:page', {
        container: options.container,
        lease: session.lease.id,
        changes: page.changes.length,
        charge: page.charge,
      });
      ahead = source.read(range, page.next, either);
      ahead.catch(() => undefined);
      if (page.changes.length > 0) await handle(page, session.fence(page));
      position = page.next;
      session.checkpoint(position);
      session.progress();
      status.position = position;
      status.failure = undefined;
      failures = 0;
    } catch (error) {
      if (either.aborted || error instanceof LeaseLost) break;
      if (error instanceof RangeGone && (await settled(session))) return 'split';
      failures += 1;
      status.failure = error;
      emit('feed:failed', { container: options.container, lease: session.lease.id, error });
      // The iterator behind `ahead` may still be under way; it must not be read twice at once.
      await ahead?.catch(() => undefined);
      ahead = undefined;
      await clock.sleep(Math.min(30_000, 100 * 2 ** Math.min(failures, 9)), either).catch(() => undefined);
    }
  }
  return 'ended';
}

const settled = (session: LeaseSession): Promise<boolean> =>
  session.settled().then(
    () => true,
    () => false,
  );

/** The SDK's reads take no AbortSignal: leave them behind instead of waiting for them. */
function until<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  promise.catch(() => undefined);
  return new Promise<T>((resolve, reject) => {
    const aborted = (): void => reject(abortReason(signal));
    if (signal.aborted) return aborted();
    signal.addEventListener('abort', aborted, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted));
  });
}
