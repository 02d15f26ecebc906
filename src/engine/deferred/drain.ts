import { systemClock } from '../../base/clock.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { DeferredQueues } from './deferred.ts';
import type { DeferredChange } from './documents.ts';

export interface DrainOptions {
  /**
   * Reads what a change stands for from its source: the change if the document still has this version, a deletion just
   * above the version if it is gone, undefined if it has a newer version, which the feed brings or has brought.
   */
  readonly again: (item: DeferredChange) => Promise<Change | undefined>;
  /**
   * Resolves when the changes are applied or parked in every projection. `readAt`: when reading them began, monotonic. The
   * write bound counts from then, as from the read of a page (PROC-L13).
   */
  readonly apply: (changes: readonly Change[], readAt: number) => Promise<void>;
}

/** Applies the next changes that a tenant has deferred. `drained`: call it again, at the tenant's next turn. */
export async function drainNext(
  deferred: Pick<DeferredQueues, 'next' | 'done'>,
  tenant: string,
  position: number,
  { again, apply }: DrainOptions,
): Promise<'drained' | 'later' | 'none'> {
  const portion = await deferred.next(tenant, position);
  if (typeof portion === 'string') return portion;
  const readAt = systemClock.monotonic();
  const found = await Promise.all(portion.due.map(again));
  const changes = found.filter((change) => change !== undefined);
  if (changes.length > 0) await apply(changes, readAt);
  await deferred.done(portion);
  return 'drained';
}
