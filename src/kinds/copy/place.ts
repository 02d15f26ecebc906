import { sharedError } from '../../base/shared-errors.ts';
import { type MillraceError, messageOf } from '../../base/errors.ts';
import { digest } from '../../base/json.ts';
import { type CopySpec, type Doc, projectionId } from '../../pipeline/specs.ts';
import { sinkDocumentId } from '../../pipeline/sink-id.ts';
import type { Change, Key } from '../../feed/reading/change.ts';
import { type SinkContainer, sinkKey } from '../sink-container.ts';
import type { CopyOwn } from './documents.ts';
import type { JoinState } from './joins.ts';
import { projectionsError } from '../errors.ts';

/** A change with the place and the content of its copy; `body` null: the copy must not exist. */
export interface Placed {
  readonly change: Change;
  readonly key: Key;
  readonly id: string;
  readonly body: Doc | null;
  readonly joins: Readonly<Record<string, JoinState>>;
  /** A joined document that the copy has to wait for is missing. */
  readonly waits: boolean;
}

/** Runs `where` and `map` of a copy. Undefined: the document has no copy, and its locator knows where a former one is. */
export function place(
  spec: CopySpec,
  sink: SinkContainer,
  change: Change,
  joins: Readonly<Record<string, JoinState>>,
): Placed | undefined {
  const doc = change.doc ?? {};
  const counts = change.op === 'upsert' && (spec.where?.(doc) ?? true);
  // Without a locator, `map` must still return the place of a copy that no longer counts: it is the same as before.
  if (!counts && !spec.stable) return undefined;
  const joined = Object.fromEntries(spec.joins.map(({ name }) => [name, joins[name]?.doc ?? null]));
  const mapped = spec.map(doc, joined);
  const at = whereabouts(spec, sink, mapped);
  if (spec.joins.length > 0) assertIndependent(spec, sink, doc, at);
  const waits = spec.joins.some(({ name, missing }) => missing === 'wait' && joined[name] === null);
  return { change, ...at, body: counts ? { ...mapped, id: at.id, type: spec.into.type } : null, joins, waits };
}

function whereabouts(spec: CopySpec, sink: SinkContainer, mapped: Doc): { key: Key; id: string } {
  const { id } = mapped;
  if (typeof id !== 'string' || id === '')
    throw sharedError('value-invalid', `${projectionId(spec)} returned a document without an id`, {
      hint: 'Return a non-empty string as `id`.',
    });
  const named = { ...mapped, id: sinkDocumentId(id, spec.badIds) };
  return { key: sinkKey(sink, { ...named, type: spec.into.type }), id: named.id };
}

/** A copy whose place depends on a joined document could exist in two places at the same time. */
function assertIndependent(spec: CopySpec, sink: SinkContainer, doc: Doc, at: { key: Key; id: string }): void {
  let alone;
  try {
    alone = whereabouts(spec, sink, spec.map(doc, Object.fromEntries(spec.joins.map(({ name }) => [name, null]))));
  } catch (error) {
    throw dependent(spec, error);
  }
  if (digest(alone) !== digest(at)) throw dependent(spec);
}

/** `without`: the error that `map` threw without a joined document. */
function dependent(spec: CopySpec, without?: unknown): MillraceError {
  const what = `The id or partition key that ${projectionId(spec)} returns depends on a joined document`;
  const why = without === undefined ? '' : `: without it, map throws \`${messageOf(without)}\``;
  return projectionsError('place-changed', `${what}${why}`, {
    hint: 'Take the id and the partition key from the copied document alone. Let `map` accept null for a joined document.',
    cause: without,
  });
}

/** The joins in the form that the copy stores. */
export const joinUses = (joins: Readonly<Record<string, JoinState>>): CopyOwn['joins'] =>
  Object.fromEntries(Object.entries(joins).map(([name, { ref, mark, version }]) => [name, { ref, mark, version }]));
