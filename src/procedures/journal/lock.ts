// One process at a time (docs/SPEC-journal.md).
import type { Container } from '@azure/cosmos';
import { CLOCK_SKEW_MS, LANDING_BOUND_MS } from '../../base/bounds.ts';
import { systemClock } from '../../base/clock.ts';
import { formatOf } from '../../base/format.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { Claim, type Claimed, type ClaimedBy } from './claim.ts';

const RENEW_MS = 20_000;
/** A holder begins nothing once its last acknowledged renewal was sent so long ago. */
const EXPIRES_MS = 55_000;
/** So long after its last renewal nothing of a holder lands any more, whatever the clocks of two machines say. */
export const ABANDONED_MS = EXPIRES_MS + LANDING_BOUND_MS + CLOCK_SKEW_MS;

const PARTITION = 'locks';

type LockKind = 'recovery' | 'verifying' | 'backfilling' | 'erasing';

/** A lock in the state container. */
export interface LockDocument extends Claimed {
  readonly type: 'millrace.lock';
  readonly kind: LockKind;
  readonly actor: string;
  /** How far the work is. Absent: it stores none. */
  readonly progress?: unknown;
}

/** Whether its holder may still be at work. */
const isHeld = ({ holder, aliveAt }: Claimed, now: number): boolean =>
  holder !== '' && now - Date.parse(aliveAt) < ABANDONED_MS;

export interface LockOptions extends ClaimedBy {
  /** What one process does at a time. */
  readonly kind: LockKind;
  /** The pipeline, or the container, for which it does that. */
  readonly of: string;
  readonly actor: string;
  readonly signal: AbortSignal;
}

export interface Lock<P> {
  /** Ends where another process may have the lock. */
  readonly signal: AbortSignal;
  /** What a run that didn't come to its end has stored. */
  readonly progress: P | undefined;
  /** @throws MillraceError `overtaken` */
  readonly save: (progress: P) => Promise<void>;
}

/**
 * Runs `work` while no other process has the lock. Progress stays until a run comes to its end.
 * @throws MillraceError `under-way`, unless `busy` gives another error
 */
export async function whileLocked<T, P = never>(
  state: Container,
  { kind, of, what, actor, clock, signal }: LockOptions,
  work: (lock: Lock<P>) => Promise<T>,
  busy: (error: Error) => Error = (error) => error,
): Promise<T> {
  const next = (stored: LockDocument | undefined): Omit<LockDocument, keyof Claimed> => {
    if (stored && isHeld(stored, clock.now()))
      throw busy(sharedError('under-way', `${what} runs: ${stored.actor} renewed it at ${stored.aliveAt}`));
    return { ...stored, type: 'millrace.lock', ...formatOf('lock'), kind, actor };
  };
  const claim = await Claim.take<LockDocument>(state, { id: `${kind}|${of}`, pk: PARTITION }, next, { what, clock });
  const lost = new AbortController();
  const expire = (): void => lost.abort(sharedError('overtaken', `${what} could not renew its lock`));
  let expiry: NodeJS.Timeout;
  const renewed = (): void => {
    clearTimeout(expiry);
    expiry = setTimeout(expire, claim.sentAt + EXPIRES_MS - systemClock.monotonic());
  };
  renewed();
  let renewing: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    renewing = claim.save().then(renewed, (error: unknown) => lost.abort(error));
  }, RENEW_MS);
  let ended = false;
  try {
    const done = await work({
      signal: AbortSignal.any([signal, lost.signal]),
      progress: claim.now.progress as P | undefined,
      save: async (progress) => {
        await claim.save((stored) => ({ ...stored, progress }));
        renewed();
      },
    });
    ended = true;
    return done;
  } finally {
    clearInterval(timer);
    await renewing;
    clearTimeout(expiry!);
    // A document that stays is taken over after a while.
    await claim
      .end((stored) => (ended || stored.progress === undefined ? undefined : { ...stored, holder: '' }))
      .catch(() => undefined);
  }
}

/** The recoveries, of whatever pipeline, that may be at work. */
export async function recoveriesUnderWay(state: Container, now: number, signal: AbortSignal): Promise<LockDocument[]> {
  const found: LockDocument[] = [];
  for await (const one of fetchAll<LockDocument>(state, 'SELECT * FROM c', signal, { partitionKey: PARTITION }))
    if (one.kind === 'recovery' && isHeld(one, now)) found.push(one);
  return found;
}
