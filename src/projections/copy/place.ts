import { MillraceError, messageOf } from '../../base/errors.ts';
import { digest } from '../../base/json.ts';
import { type CopySpec, type Doc, projectionId } from '../../definition/specs.ts';
import { sinkDocumentId } from '../../definition/sink-id.ts';
import type { Change, Key } from '../../feed/reading/change.ts';
import { type SinkContainer, sinkKey } from '../sink-container.ts';
import type { CopyOwn } from './documents.ts';
import type { JoinState } from './joins.ts';

/** A change with where its copy lies and what it looks like; `body` null: the copy must not be there. */
export interface Placed {
  readonly change: Change;
  readonly key: Key;
  readonly id: string;
  readonly body: Doc | null;
  readonly joins: Readonly<Record<string, JoinState>>;
  /** A joined document it has to wait for is missing. */
  readonly waits: boolean;
}

/** Runs `where` and `map` of a copy; undefined where the document has no copy and never says where one would be. */
export function place(
  spec: CopySpec,
  sink: SinkContainer,
  change: Change,
  joins: Readonly<Record<string, JoinState>>,
): Placed | undefined {
  const doc = change.doc ?? {};
  const counts = change.op === 'upsert' && (spec.where?.(doc) ?? true);
  // Without a locator the place of a copy that no longer counts must still be known: it is where it was.
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
  if (typeof id !== 'string' || id === '') {
    throw new MillraceError('sink-id-missing', `${projectionId(spec)} returned a document without an id`, {
      mend: 'Return a non-empty string as id.',
    });
  }
  const named = { ...mapped, id: sinkDocumentId(id, spec.badIds) };
  return { key: sinkKey(sink, { ...named, type: spec.into.type }), id: named.id };
}

/** A copy whose place depends on a joined document could lie in two places at once, each with half the truth. */
function assertIndependent(spec: CopySpec, sink: SinkContainer, doc: Doc, at: { key: Key; id: string }): void {
  let alone;
  try {
    alone = whereabouts(spec, sink, spec.map(doc, Object.fromEntries(spec.joins.map(({ name }) => [name, null]))));
  } catch (error) {
    throw dependent(spec, error);
  }
  if (digest(alone) !== digest(at)) throw dependent(spec);
}

/** `without`: what `map` threw where it was given no joined document. */
function dependent(spec: CopySpec, without?: unknown): MillraceError {
  const what = `The id or partition key that ${projectionId(spec)} returns depends on a joined document`;
  const why = without === undefined ? '' : `: where that is missing, \`${messageOf(without)}\` is thrown`;
  return new MillraceError('place-depends-on-join', `${what}${why}`, {
    cause: without,
    mend: 'Take id and partition key from the copied document alone, and let `map` take null for a joined one.',
  });
}

/** The joins as they are remembered in the copy. */
export const joinUses = (joins: Readonly<Record<string, JoinState>>): CopyOwn['joins'] =>
  Object.fromEntries(Object.entries(joins).map(([name, { ref, mark, version }]) => [name, { ref, mark, version }]));
