import { MillraceError } from '../base/errors.ts';
import { type FailureKind, failureOf } from '../cosmos/failure.ts';
import type { Change } from '../feed/reading/change.ts';
import { Poison, type Refusal, type Runner, asRefusal } from '../projections/runner.ts';
import type { SinkSession } from '../sinks/session.ts';

/** What became of a runner's changes. */
export interface Applied {
  readonly applied: readonly Change[];
  readonly refusals: readonly Refusal[];
  /** Behind a refused or parked change of their key, in feed order; none where the runner keeps no order among documents. */
  readonly held: readonly Change[];
}

/** Applies changes that have no order but each document's own: a refused one holds no other up. */
export async function applyApart(runner: Runner, changes: readonly Change[], session: SinkSession): Promise<Applied> {
  const refusals = await applyIsolating(changes, (some) => runner.apply(some, session));
  const refused = new Set(refusals.map(({ change }) => change));
  return { applied: refused.size > 0 ? changes.filter((change) => !refused.has(change)) : changes, refusals, held: [] };
}

/**
 * Applies changes, leaving out those that can't be applied: Poison names them, any other error that trying again won't
 * mend is found by halving (at most 2 · ⌈log₂ n⌉ + 1 attempts for one bad change). Infrastructure errors are thrown on.
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

/** Throttled for too long, unreachable, denied, container missing, lease lost, page too old, aborted: the page is read again, nothing is parked. */
export const isInfrastructure = (error: unknown): boolean =>
  (error instanceof MillraceError && (error.retryable || error.code === 'aborted')) ||
  (error instanceof Error && ['AbortError', 'RestError', 'TimeoutError'].includes(error.name)) ||
  // As the SDK threw it: what a runner's request was answered, whichever change it was for.
  (!(error instanceof MillraceError) && INFRASTRUCTURE.has(failureOf(error).kind));
