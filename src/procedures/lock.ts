import type { Container } from '@azure/cosmos';
import { CLOCK_SKEW_MS } from '../base/bounds.ts';
import type { Clock } from '../base/clock.ts';
import { fetchAll } from '../cosmos/fetch-all.ts';
import { rewrite } from '../cosmos/compare-and-swap.ts';

const RENEW_MS = 20_000;
/** A holder that died has not renewed for this long, whatever the clocks of the two machines say. */
export const ABANDONED_MS = 6 * RENEW_MS + CLOCK_SKEW_MS;

/** Whether its holder may still be at work. */
export const isHeld = ({ renewedAt }: LockDocument, now: number): boolean => now - Date.parse(renewedAt) < ABANDONED_MS;

/** A lock in the state container. */
export interface LockDocument {
  /** The pipeline, or the container. */
  readonly id: string;
  readonly pk: string;
  readonly type: string;
  readonly holder: string;
  readonly actor: string;
  /** ISO 8601 UTC. */
  readonly renewedAt: string;
}

export interface ProcedureLockOptions {
  /** What one process does at a time. */
  readonly kind: 'recovery' | 'verifying' | 'backfilling' | 'erasing';
  /** `formatOf` this kind. */
  readonly format: { readonly format?: number };
  /** The pipeline, or the container, for which it does that. */
  readonly of: string;
  readonly actor: string;
  /** Unique for each run: one operator may run it twice. */
  readonly holder: string;
  /** The error where another has the lock; undefined: another took it meanwhile. */
  readonly refusal: (held: LockDocument | undefined) => Error;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Runs `work` while no other process has the lock. The signal of `work` ends if another took it, which it may when this
 * one could not renew it.
 */
export async function whileLocked<T>(
  state: Container,
  { kind, format, of, actor, holder, refusal, clock, signal }: ProcedureLockOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const at = { id: of, pk: kind } as const;
  const renew = async (mayTake: boolean): Promise<void> => {
    await rewrite(state, at, (stored: LockDocument | undefined): LockDocument => {
      const now = clock.now();
      if (stored?.holder !== holder && !mayTake) throw refusal(stored);
      if (stored && stored.holder !== holder && isHeld(stored, now)) throw refusal(stored);
      const renewedAt = new Date(now).toISOString();
      return { ...at, type: `millrace.${kind}`, ...format, holder, actor, renewedAt };
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

/** The recoveries, of whatever pipeline, that may be at work. */
export async function recoveriesUnderWay(state: Container, now: number, signal: AbortSignal): Promise<LockDocument[]> {
  const kind: ProcedureLockOptions['kind'] = 'recovery';
  const found: LockDocument[] = [];
  for await (const one of fetchAll<LockDocument>(state, 'SELECT * FROM c', signal, { partitionKey: kind }))
    if (isHeld(one, now)) found.push(one);
  return found;
}
