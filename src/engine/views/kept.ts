// A version that a promotion has replaced may be *kept*: hosts go on applying changes to it, so that it can become current
// again at once (docs/SPEC-rebuild.md, "The way back").
import { CLOCK_SKEW_MS } from '../../base/bounds.ts';
import type { Previous, View } from './views.ts';

/**
 * Hosts keep a version for this much longer than its grace. A way back may begin in the last moment of the grace by one
 * clock, while a host whose clock is ahead still has a page to apply (REB-V26).
 */
export const KEPT_MARGIN_MS = 2 * CLOCK_SKEW_MS + 60_000;

/** For operators: the version can become current again. */
export const isKept = (previous: Previous | null, now: number): boolean =>
  previous?.keptUntil !== undefined && previous.notKept === undefined && now < Date.parse(previous.keptUntil);

/** For hosts: they apply changes to the version. */
export const isApplied = (previous: Previous | null, now: number): boolean =>
  previous?.keptUntil !== undefined &&
  previous.notKept === undefined &&
  now < Date.parse(previous.keptUntil) + KEPT_MARGIN_MS;

/** The first moment at which no host applies anything to the version, milliseconds since 1970. */
export const appliedUntil = ({ replacedAt, keptUntil }: Previous): number =>
  keptUntil === undefined ? Date.parse(replacedAt) : Date.parse(keptUntil) + KEPT_MARGIN_MS;

/** Ends the grace of a version; undefined if it isn't kept. */
export function endKept(view: View, version: number, why: string, now: number): View | undefined {
  const { previous } = view;
  if (previous?.version !== version || !isApplied(previous, now)) return undefined;
  const { frozenUntil: _, ...rest } = previous;
  return { ...view, previous: { ...rest, keptUntil: new Date(now).toISOString(), notKept: why } };
}
