import { setTimeout as delay } from 'node:timers/promises';
import { CLOCK_SKEW_MS } from '../../base/bounds.ts';
import { systemClock } from '../../base/clock.ts';
import { sharedError } from '../../base/shared-errors.ts';
import type { MillraceError } from '../../base/errors.ts';
import type { View, Views } from '../../engine/views/views.ts';
import { operationsError } from '../errors.ts';

/** How long hosts wait with their pages, by their clocks, if a promotion is not finished. */
const FREEZE_MS = 300_000;
/** A promotion must be decided within this time, which allows for differences between the clocks. */
const DECIDE_MS = FREEZE_MS - 2 * CLOCK_SKEW_MS;

/** A part of a view by which hosts stand still: the version that is built, or the one that is kept. */
interface Freezable {
  readonly frozenUntil?: string;
}

export interface FreezeOptions<P extends Freezable> {
  readonly name: string;
  readonly part: {
    /** @throws the part is no longer what it was: nothing is frozen */
    readonly of: (view: View) => P;
    /** The view with the part frozen until then. */
    readonly frozen: (view: View, part: P, until: string) => View;
    /** The view with the part as it was before the freeze of this name; undefined: it isn't frozen by this name. */
    readonly thawed: (view: View, until: string) => View | undefined;
  };
  /** Every host sees the freeze within this time, milliseconds. */
  readonly seenAfterMs: number;
  readonly signal: AbortSignal;
}

export interface Frozen {
  /** The end of the freeze, which names it: another run that sees another name must not switch. ISO 8601 UTC. */
  readonly until: string;
  /** Ends with the time to decide. */
  readonly signal: AbortSignal;
  /** Call it in the write that switches. @throws MillraceError `too-slow`, `under-way` */
  assertOwn(part: Freezable): void;
  /** The time since the freeze, milliseconds. */
  heldMs(): number;
}

/**
 * Stops hosts from applying changes, and calls `work` once all of them have seen it: no host then starts to apply a change,
 * and those that a host had started with are in the feed. `work` reads to the end and switches. If it fails, hosts continue
 * as before. Only the run that wrote a freeze may end it or switch by it (REB-V28).
 * @throws MillraceError `too-slow`, `under-way`
 */
export async function whileFrozen<P extends Freezable, T>(
  views: Views,
  { name, part, seenAfterMs, signal }: FreezeOptions<P>,
  work: (frozen: Frozen) => Promise<T>,
): Promise<T> {
  const frozenAt = systemClock.monotonic();
  let until = '';
  await views.change(name, (view) => {
    const now = part.of(view);
    until = endOf(now);
    return part.frozen(view, now, until);
  });
  const late = AbortSignal.timeout(DECIDE_MS);
  const decide = AbortSignal.any([signal, late]);
  const heldMs = (): number => Math.round(systemClock.monotonic() - frozenAt);
  const assertOwn = ({ frozenUntil }: Freezable): void => {
    if (frozenUntil !== until) throw otherPromotes(name);
    if (heldMs() > DECIDE_MS) throw tooSlow(name);
  };
  try {
    await delay(seenAfterMs, undefined, { signal: decide });
    return await work({ until, signal: decide, assertOwn, heldMs });
  } catch (error) {
    await views.change(name, (view) => part.thawed(view, until)).catch(() => undefined);
    if (signal.aborted || !late.aborted) throw error;
    throw tooSlow(name, error);
  }
}

/**
 * A new end of a freeze, which also names it. A run that is given up ends its own freeze, and hosts continue. Another run
 * that still works must not switch after that.
 */
function endOf({ frozenUntil }: Freezable): string {
  const until = Date.now() + FREEZE_MS;
  const own = new Date(until).toISOString();
  return own === frozenUntil ? new Date(until + 1).toISOString() : own;
}

const otherPromotes = (name: string): MillraceError =>
  sharedError('under-way', `Another process promotes a version of ${name}`, {
    hint: 'Wait for that process, or stop it. Then look at `millrace projections show NAME`, and run the command again.',
    retryable: false,
  });

const tooSlow = (name: string, cause?: unknown): MillraceError =>
  operationsError(
    'too-slow',
    `The new version of ${name} did not reach the end of its feeds within ${DECIDE_MS / 1_000} s; the previous version is still current`,
    { cause },
  );
