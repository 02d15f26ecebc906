import { canonical } from '../base/json.ts';
import { MillraceError, messageOf } from '../base/errors.ts';
import { sharedError } from '../base/shared-errors.ts';
import { thrownAt } from '../base/user-code.ts';
import type { SourceRef } from '../pipeline/specs.ts';
import type { Change } from '../feed/reading/change.ts';
import type { DocumentAccess } from '../access/document-access.ts';
import { PROJECTIONS_ERRORS, projectionsError } from './errors.ts';

/**
 * Applies the changes of one projection. It may get a change again, late, or on a host that has lost its lease; within a
 * page it never applies two changes of one `order` value at the same time. It uses its access only. It throws Poison
 * for changes that it can never apply, and any other error for infrastructure. When `apply` ends in any way, nothing
 * that it began still runs: the page may be read again immediately (`mapSettled`).
 */
export interface Runner {
  readonly id: `${string}@${number}`;
  readonly order: 'document' | 'partitionKey';
  /** The document types whose changes it takes. */
  readonly sources: readonly SourceRef[];
  /**
   * Where its effects are events: whether a change is one. It gets no other change: `passOver` gets what moves, restores and
   * backfills have written. Its dead letters stand for effects that are still to come, whichever versions these have
   * written since.
   */
  readonly isEvent?: (change: Change) => boolean;
  apply(changes: readonly Change[], sink: DocumentAccess): Promise<void>;
  /**
   * Gets the changes below the projection's start, and those that are no event, which `apply` never gets, before their page
   * is acknowledged. For a runner that compares later changes with them. It runs no user code that may throw, and has no
   * effect outside.
   */
  passOver?(changes: readonly Change[], sink: DocumentAccess): Promise<void>;
  /**
   * Continues, for a limited time, the work that changes left for after their page. Called at intervals, also when no
   * changes come. `isErased`: work for such a tenant is given up. `idle`: this host knows of no work left.
   */
  resume?(
    sink: DocumentAccess,
    isErased?: (tenant: string | undefined) => boolean,
  ): Promise<{ readonly idle: boolean; readonly refusals: readonly Refusal[] }>;
}

export interface Refusal {
  readonly change: Change;
  readonly error: MillraceError;
}

/** Changes that can't be applied, however often Millrace tries. The page's other changes may not be applied either. */
export class Poison extends MillraceError<'poison'> {
  readonly refusals: readonly Refusal[];
  /** @throws UsageError `option-invalid` for an empty list */
  constructor(refusals: readonly Refusal[]) {
    if (refusals.length === 0)
      throw sharedError('option-invalid', 'new Poison([]) names no change that can’t be applied', {
        hint: 'Name each one with the error that says why: `new Poison([{ change, error }])`.',
      });
    super(
      'poison',
      refusals.map(({ change, error }) => `${change.container}/${change.id}: ${error.message}`).join('; '),
      PROJECTIONS_ERRORS.poison,
    );
    this.refusals = refusals;
  }
}

/** Runs the user's code for each change. Its errors become one Poison that names every change that failed. */
export function evaluate<R>(changes: readonly Change[], run: (change: Change) => R): R[] {
  const results: R[] = [];
  const refusals: Refusal[] = [];
  for (const change of changes) {
    try {
      if (change.failed === undefined) results.push(run(change));
      else refusals.push({ change, error: asRefusal(change.failed) });
    } catch (error) {
      refusals.push({ change, error: asRefusal(error) });
    }
  }
  if (refusals.length > 0) throw new Poison(refusals);
  return results;
}

/** A predicate of the user's code over changes; false for a change at which it throws. */
export const ifNoThrow =
  (holds: (change: Change) => boolean) =>
  (change: Change): boolean => {
    try {
      return change.failed === undefined && holds(change);
    } catch {
      return false;
    }
  };

/** The error that a change is parked with. */
export const asRefusal = (error: unknown): MillraceError =>
  error instanceof MillraceError
    ? error
    : projectionsError('projection-threw', `${messageOf(error)}${thrownAt(error)}`, { cause: error });

/** Names the document of a change, as one of its type. */
export const placeText = ({ container, type, key, id }: Change): string => canonical([container, type, key, id]);

/** The last change of each document, in feed order: it supersedes the others of the page (AGG-G12). */
export function lastOfEach(changes: readonly Change[]): Change[] {
  const last = new Map<string, Change>();
  for (const change of changes) {
    const name = `${change.container}\n${JSON.stringify(change.key)}\n${change.id}`;
    // It stands where its last version stands: what took a place that it had left comes after it.
    last.delete(name);
    last.set(name, change);
  }
  return last.size === changes.length ? [...changes] : [...last.values()];
}

/**
 * The changes that a state projection uses: the last change of each document. With `onDelete: 'keep'` a deletion counts
 * as the document that it leaves behind.
 */
export function wantedChanges(changes: readonly Change[], spec: { readonly onDelete: 'remove' | 'keep' }): Change[] {
  const wanted: Change[] = [];
  for (const change of lastOfEach(changes)) {
    // A document that is in another shard now is kept there.
    if (change.op === 'upsert' || spec.onDelete === 'remove' || change.gone) wanted.push(change);
    else if (change.doc) wanted.push({ ...change, op: 'upsert' });
  }
  return wanted;
}
