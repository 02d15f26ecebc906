import { MillraceError, messageOf } from '../base/errors.ts';
import type { SourceRef } from '../definition/specs.ts';
import type { Change } from '../feed/reading/change.ts';
import type { SinkSession } from '../sinks/session.ts';

/**
 * One projection at work. May see a change again, late, or as a zombie; never two changes of one `order` value at once
 * within a page. Talks to its session only. Throws Poison for changes it can never apply, anything else for
 * infrastructure. Whichever way `apply` ends, nothing that it began runs on: the page may be read again at once
 * (`mapSettled`).
 */
export interface Runner {
  readonly id: `${string}@${number}`;
  readonly order: 'document' | 'partitionKey';
  /** The document types whose changes it wants. */
  readonly sources: readonly SourceRef[];
  apply(changes: readonly Change[], sink: SinkSession): Promise<void>;
  /**
   * Goes on for a while with what changes have left to be done after their page; called now and then, also when no
   * changes come. `idle`: nothing is left, as far as this host knows.
   */
  resume?(sink: SinkSession): Promise<{ readonly idle: boolean; readonly refusals: readonly Refusal[] }>;
}

export interface Refusal {
  readonly change: Change;
  readonly error: MillraceError;
}

/** Changes that can't be applied however often one tries; the others of the page were not necessarily applied. */
export class Poison extends MillraceError<'poison'> {
  readonly refusals: readonly Refusal[];
  constructor(refusals: readonly Refusal[]) {
    super(
      'poison',
      refusals.map(({ change, error }) => `${change.container}/${change.id}: ${error.message}`).join('; '),
    );
    this.refusals = refusals;
  }
}

/** Runs the user's code for each change; what it throws becomes one Poison that names every change concerned. */
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

/** What a change is parked with. */
export const asRefusal = (error: unknown): MillraceError =>
  error instanceof MillraceError ? error : new MillraceError('projection-threw', messageOf(error), { cause: error });

/** The last change of each document, in feed order: the others are superseded within the page (R2). */
export function lastOfEach(changes: readonly Change[]): Change[] {
  const last = new Map<string, Change>();
  for (const change of changes) last.set(`${change.container}\n${JSON.stringify(change.key)}\n${change.id}`, change);
  return last.size === changes.length ? [...changes] : [...last.values()];
}

/**
 * What a state projection looks at: the last change of each document, no archive removals (they retract nothing), and
 * where deletions are to be kept, a deletion as the document it leaves behind.
 */
export function wantedChanges(changes: readonly Change[], spec: { readonly onDelete: 'remove' | 'keep' }): Change[] {
  const wanted: Change[] = [];
  for (const change of lastOfEach(changes)) {
    if (change.op === 'upsert' || (change.op === 'delete' && spec.onDelete === 'remove')) wanted.push(change);
    else if (change.op === 'delete' && change.doc) wanted.push({ ...change, op: 'upsert' });
  }
  return wanted;
}
