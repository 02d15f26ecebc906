import { sharedError } from '../../base/shared-errors.ts';
import { type MillraceError, messageOf } from '../../base/errors.ts';
import { digest } from '../../base/json.ts';
import { type CopySpec, type Doc, hasLocator, lacksJoined, projectionId } from '../../pipeline/specs.ts';
import { sinkDocumentId } from '../../pipeline/derived-ids.ts';
import type { Change, Key } from '../../feed/reading/change.ts';
import { type SinkContainer, sinkKey } from '../sink-container.ts';
import type { JoinState } from './joins.ts';
import { projectionsError } from '../errors.ts';

/** A change with the place and the content of its copy; `body` null: the copy must not exist. */
export interface Placed {
  readonly change: Change;
  readonly key: Key;
  readonly id: string;
  readonly body: Doc | null;
  readonly joins: Readonly<Record<string, JoinState>>;
}

/** A joined document is missing that the copy has to wait for. Its place isn't known, since `map` isn't called. */
export const WAITS = Symbol('waits for a joined document');

/** Runs `where` and `map` of a copy. Undefined: the document has no copy, and its locator knows where a former one is. */
export function place(
  spec: CopySpec,
  sink: SinkContainer,
  change: Change,
  joins: Readonly<Record<string, JoinState>>,
): Placed | typeof WAITS | undefined {
  const doc = change.doc ?? {};
  const counts = change.op === 'upsert' && (spec.where?.(doc) ?? true);
  // Without a locator, `map` must still return the place of a copy that no longer counts: it is the same as before.
  if (!counts && hasLocator(spec)) return undefined;
  const joined = Object.fromEntries(spec.joins.map(({ name }) => [name, joins[name]?.doc ?? null]));
  if (lacksJoined(spec, joined)) return WAITS;
  const mapped = spec.map(doc, joined);
  const at = whereabouts(spec, sink, mapped);
  const alone = Object.fromEntries(
    spec.joins.filter(({ missing }) => missing === 'null').map(({ name }) => [name, null]),
  );
  if (Object.keys(alone).length > 0) assertIndependent(spec, sink, at, () => spec.map(doc, { ...joined, ...alone }));
  return { change, ...at, body: counts ? { ...mapped, id: at.id, type: spec.into.type } : null, joins };
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

/** A place may depend only on joined documents that the copy waits for: its locator says which of them determined it. */
function assertIndependent(
  spec: CopySpec,
  sink: SinkContainer,
  at: { key: Key; id: string },
  mapAlone: () => Doc,
): void {
  let alone;
  try {
    alone = whereabouts(spec, sink, mapAlone());
  } catch (error) {
    throw dependent(spec, error);
  }
  if (digest(alone) !== digest(at)) throw dependent(spec);
}

/** `without`: the error that `map` threw without a joined document. */
function dependent(spec: CopySpec, without?: unknown): MillraceError {
  const what = `The id or partition key that ${projectionId(spec)} returns depends on a joined document that may be missing`;
  const why = without === undefined ? '' : `: without it, map throws \`${messageOf(without)}\``;
  return projectionsError('place-changed', `${what}${why}`, {
    hint: "Take the id and the partition key from the copied document, and let `map` accept null for the joined one; or declare missing: 'wait'.",
    cause: without,
  });
}
