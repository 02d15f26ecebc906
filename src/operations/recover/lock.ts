import type { Container } from '@azure/cosmos';
import { CLOCK_SKEW_MS } from '../../base/bounds.ts';
import type { Clock } from '../../base/clock.ts';
import { formatOf } from '../../base/format.ts';
import { rewrite } from '../../cosmos/rewrite.ts';
import { operationsError } from '../errors.ts';

const PARTITION = 'recovery';
const RENEW_MS = 20_000;
/** A holder that died has not renewed for this long, whatever the clocks of the two machines say. */
export const ABANDONED_MS = 6 * RENEW_MS + CLOCK_SKEW_MS;

interface LockDocument {
  readonly id: string;
  readonly pk: typeof PARTITION;
  readonly type: 'millrace.recovery';
  readonly holder: string;
  readonly actor: string;
  /** ISO 8601 UTC. */
  readonly renewedAt: string;
}

export interface LockOptions {
  readonly pipeline: string;
  readonly actor: string;
  /** Unique for each run: one operator may run it twice. */
  readonly holder: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Runs `work` while no other recovery of the pipeline runs (REC-S2). The signal of `work` ends if another recovery took the
 * lock, which it may when this one could not renew it.
 * @throws UsageError `recover-runs`
 */
export async function whileLocked<T>(
  state: Container,
  { pipeline, actor, holder, clock, signal }: LockOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const at = { id: pipeline, pk: PARTITION } as const;
  const renew = async (mayTake: boolean): Promise<void> => {
    await rewrite(state, at, (stored: LockDocument | undefined): LockDocument => {
      const now = clock.now();
      if (stored?.holder !== holder && !mayTake) throw runs(stored);
      if (stored && stored.holder !== holder && now - Date.parse(stored.renewedAt) < ABANDONED_MS) throw runs(stored);
      const renewedAt = new Date(now).toISOString();
      return { ...at, type: 'millrace.recovery', ...formatOf('recovery'), holder, actor, renewedAt };
    });
  };
  await renew(true);
  const lost = new AbortController();
  let renewing: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    renewing = renew(false).catch((error: unknown) => lost.abort(error));
  }, RENEW_MS);
  try {
    return await work(AbortSignal.any([signal, lost.signal]));
  } finally {
    clearInterval(timer);
    await renewing;
    // A document that stays is taken over after a while.
    await rewrite(state, at, (stored: LockDocument | undefined) =>
      stored?.holder === holder ? undefined : stored,
    ).catch(() => undefined);
  }
}

const runs = (stored: LockDocument | undefined): Error =>
  operationsError(
    'recover-runs',
    stored
      ? `A recovery of this pipeline runs: ${stored.actor} renewed it at ${stored.renewedAt}`
      : 'Another recovery of this pipeline ran meanwhile',
  );
