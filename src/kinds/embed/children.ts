import { assertStorable } from '../sink-type.ts';
import { LEAVING_TTL_S } from '../archive/leaving.ts';
import type { PatchOperation } from '@azure/cosmos';
import { systemClock } from '../../base/clock.ts';
import type { MillraceError } from '../../base/errors.ts';
import { formatOf } from '../../base/format.ts';
import { isObject } from '../../base/json.ts';
import { storedKey } from '../../cosmos/paths.ts';
import { type Doc, type EmbedSpec, projectionId } from '../../pipeline/specs.ts';
import type { Key } from '../../feed/reading/change.ts';
import { type SourceContainer, toDocument, feedWithoutSystemFields } from '../../feed/reading/mapper.ts';
import type { SinkDocument, DocumentAccess, Write } from '../../access/document-access.ts';
import { refusalOf } from '../../access/size.ts';
import { type MovedMark, movedMarkOf, movedOwn } from '../moved.ts';
import { asRefusal } from '../runner.ts';
import {
  type Guard,
  type Match,
  type ParentState,
  fieldsDue,
  guardOf,
  hashOf,
  isOlder,
  matchesOf,
  embedOrderOf,
} from './fields.ts';

/** Where an embed writes. */
export interface ChildTarget {
  readonly spec: EmbedSpec;
  readonly parents: SourceContainer;
  readonly children: SourceContainer;
  /** Default time to live of the container's documents, in seconds; undefined: they never expire. */
  readonly childTtl?: number | undefined;
}

/** A patch takes ten operations. */
const MOST_OPERATIONS = 10;
/** Field names that a patch's path can contain without escaping. */
const PLAIN = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The write to one stored child. */
export interface ChildWrite {
  readonly key: Key;
  readonly write: Write;
  /** The whole document after the write. */
  readonly body: Doc;
}

/**
 * The write that updates the embedded fields of one stored child, on the condition that it hasn't changed since it was
 * read; it leaves the other fields alone. Undefined: the child is right already, or is not of this projection. Throws
 * only what the user's functions throw.
 */
export function childWrite(
  target: ChildTarget,
  raw: SinkDocument,
  states: ReadonlyMap<string, ParentState>,
): ChildWrite | undefined {
  const { spec, parents, children } = target;
  const child = toDocument(children, raw);
  // A document that leaves the container is as good as archived. One that stays after all comes through its feed.
  if (!child || raw['ttl'] === LEAVING_TTL_S) return undefined;
  const moved = movedMarkOf(raw, feedWithoutSystemFields(raw));
  if (moved?.ahead) return undefined;
  const name = projectionId(spec);
  const own = isObject(raw['_mr']) ? raw['_mr'] : {};
  const guard = own[name] as Guard | undefined;
  const matches = matchesOf(spec, parents, child);
  const due = fieldsDue(spec, matches, states, child, guard);
  if (Object.keys(due).length === 0 || isOwnEcho(raw, guard, matches, states)) return undefined;
  const ttl = remaining(target, raw);
  if (ttl !== undefined && ttl <= 0) return undefined;
  const content = defined({ ...feedWithoutSystemFields(raw), ...due });
  const guarded = { ...own, ...formatOf('own'), [name]: guardOf(matches, states, content, guard) };
  const mark = moved ? movedOwn(guarded, echoOf(moved), { ...content, ...(ttl !== undefined && { ttl }) }) : guarded;
  const fields = { ...due, ...(ttl !== undefined && { ttl }), _mr: mark };
  return { key: storedKey(raw, children.keyPaths), write: writeOf(raw, fields), body: { ...content, _mr: mark } };
}

/** The mark of a move stays, so that it is known that the application has written nothing since; the version is the embed's. */
function echoOf(moved: MovedMark): Omit<MovedMark, 'digest'> {
  const { digest: _, epoch: __, ...mark } = moved;
  return { ...mark, echo: true };
}

/** An error of the user's functions concerns this child only: the others are written all the same. */
export function attemptChild<T>(plan: () => T): T | MillraceError {
  try {
    return plan();
  } catch (cause) {
    return asRefusal(cause);
  }
}

/** Whether this projection wrote the child for these parents: functions with changing results must not write endlessly. */
function isOwnEcho(
  raw: SinkDocument,
  guard: Guard | undefined,
  matches: readonly Match[],
  states: ReadonlyMap<string, ParentState>,
): boolean {
  if (!guard || guard.hash !== hashOf(feedWithoutSystemFields(raw))) return false;
  return matches.every(({ ref }) => {
    const state = states.get(ref);
    const before = guard.parents[ref];
    return !state || (before !== undefined && !isOlder(before, embedOrderOf(state.version)));
  });
}

/** `conflict`: it has changed since it was read. */
export async function commitChild(
  { children }: ChildTarget,
  { key, write, body }: ChildWrite,
  access: DocumentAccess,
): Promise<'written' | 'conflict' | MillraceError> {
  const answer = await access.commit(children.name, key, [write]);
  if (answer.kind === 'done') return 'written';
  return answer.kind === 'conflict' ? 'conflict' : refusalOf(children.name, body, answer.why);
}

/** The write removes undefined fields. */
function writeOf(raw: SinkDocument, fields: Doc): Write {
  const entries = Object.entries(fields);
  if (entries.length <= MOST_OPERATIONS && entries.every(([field]) => PLAIN.test(field))) {
    const operations = entries.map(([field, value]): PatchOperation =>
      value === undefined ? { op: 'remove', path: `/${field}` } : { op: 'set', path: `/${field}`, value },
    );
    return { op: 'patch', id: raw.id, operations, ifMatch: raw._etag };
  }
  const { _rid, _self, _etag, _attachments, _ts, _lsn, ...stored } = raw as Doc;
  assertStorable(stored, raw.id);
  return { op: 'replace', id: raw.id, body: defined({ ...stored, ...fields }), ifMatch: raw._etag };
}

const defined = (doc: Doc): Doc => Object.fromEntries(Object.entries(doc).filter(([, value]) => value !== undefined));

/** The rest of the child's time to live, in seconds, since our write starts it again; undefined: it never expires. */
function remaining({ childTtl }: ChildTarget, raw: SinkDocument): number | undefined {
  const declared = typeof raw['ttl'] === 'number' ? raw['ttl'] : childTtl;
  if (declared === undefined || declared < 0) return undefined;
  return Math.min(declared, declared - Math.floor(systemClock.now() / 1000 - Number(raw['_ts'])));
}
