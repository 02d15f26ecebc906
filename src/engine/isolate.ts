import { MillraceError } from '../base/errors.ts';
import { type FailureKind, failureOf } from '../cosmos/failure.ts';
import type { Change } from '../feed/reading/change.ts';
import { Poison, type Refusal, type Runner, asRefusal } from '../kinds/runner.ts';
import type { DocumentAccess } from '../access/document-access.ts';

/** The result of a runner's changes. */
export interface Applied {
  readonly applied: readonly Change[];
  readonly refusals: readonly Refusal[];
  /** Changes behind a refused or parked change of their key, in feed order. Empty if the runner orders no keys. */
  readonly waiting: readonly Change[];
}

/** Applies changes that keep an order only within each document. A refused change delays no other document. */
export async function applyApart(
  runner: Pick<Runner, 'apply'>,
  changes: readonly Change[],
  access: DocumentAccess,
): Promise<Applied> {
  const refusals = await applyIsolating(changes, (some) => runner.apply(some, access));
  const refused = new Set(refusals.map(({ change }) => change));
  return {
    applied: refused.size > 0 ? changes.filter((change) => !refused.has(change)) : changes,
    refusals,
    waiting: [],
  };
}

/**
 * Applies changes, and returns those that can't be applied. Poison names them. For any other error that a retry can't
 * fix, the change is found by halving (at most 2 · ⌈log₂ n⌉ + 1 attempts for one bad change). Throws infrastructure errors.
 */
export async function applyIsolating(
  changes: readonly Change[],
  apply: (changes: readonly Change[]) => Promise<void>,
): Promise<Refusal[]> {
  if (changes.length === 0) return [];
  try {
    await apply(changes);
    return [];
  } catch (error) {
    if (error instanceof Poison) {
      const refused = new Set(error.refusals.map(({ change }) => change));
      const rest = changes.filter((change) => !refused.has(change));
      if (rest.length < changes.length) return [...error.refusals, ...(await applyIsolating(rest, apply))];
    }
    if (isInfrastructure(error)) throw error;
    const [only] = changes;
    if (changes.length === 1 && only) return [{ change: only, error: asRefusal(error) }];
    const middle = changes.length >> 1;
    const left = await applyIsolating(changes.slice(0, middle), apply);
    return [...left, ...(await applyIsolating(changes.slice(middle), apply))];
  }
}

const INFRASTRUCTURE = new Set<FailureKind>(['throttled', 'unreachable', 'ambiguous', 'not-found', 'gone', 'denied']);

/**
 * Throttled for too long, unreachable, denied, container missing, lease lost, page too old, aborted: the page is read
 * again and nothing is parked.
 */
export const isInfrastructure = (error: unknown): boolean =>
  (error instanceof MillraceError && (error.retryable || error.code === 'aborted')) ||
  (error instanceof Error && ['AbortError', 'RestError', 'TimeoutError'].includes(error.name)) ||
  // An error of the SDK itself: the answer to a runner's request, for whichever change.
  (!(error instanceof MillraceError) && INFRASTRUCTURE.has(failureOf(error).kind));
