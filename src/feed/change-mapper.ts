import { isObject } from '../base/json.ts';
import { MillraceError } from '../base/errors.ts';
import { type KeyPath, fullKey } from '../cosmos/paths.ts';
import { isEmptied } from '../definition/emptied.ts';
import type { Change, Key } from './change.ts';
import { isRestored } from './restored.ts';

/** Types beginning with this are Millrace's own documents (contributions, tombstones …): never a source of anything. */
export const OWN_TYPE = 'millrace.';

/** What the mapper must know of a container whose feed is read. */
export interface SourceContainer {
  readonly name: string;
  readonly keyPaths: readonly KeyPath[];
  /** By discriminator; a document of another type is nobody's business. */
  readonly types: ReadonlyMap<string, TypeRules>;
}

export interface TypeRules {
  deleted?(document: Record<string, unknown>): boolean;
  upcast?(old: unknown): Record<string, unknown>;
}

/**
 * A raw document, as the feed or the Functions trigger delivers it, as a Change; undefined where its type has no
 * projection. A throw of the user's `upcast` or `deleted` is the caller's to isolate: it is kept in `failed`.
 */
export function toChange(source: SourceContainer, raw: unknown, epoch: number): Change | undefined {
  if (!isObject(raw))
    throw new MillraceError('malformed-change', `The feed of ${source.name} delivered something that is no document`);
  const type = raw['type'];
  if (typeof type !== 'string' || type.startsWith(OWN_TYPE)) return undefined;
  const rules = source.types.get(type);
  if (!rules) return undefined;
  const lsn = Number(raw['_lsn']);
  const etag = raw['_etag'];
  const id = raw['id'];
  const keyed = fullKey(raw, source.keyPaths);
  if (!Number.isFinite(lsn) || typeof etag !== 'string' || typeof id !== 'string') {
    throw new MillraceError('malformed-change', `A change of ${source.name} lacks _lsn, _etag or id`);
  }
  const doc = withoutSystemFields(raw);
  const change = {
    container: source.name,
    type,
    key: 'key' in keyed ? keyed.key : keyWithGaps(raw, source.keyPaths),
    id,
    version: { epoch, lsn, etag },
    at: Number(raw['_ts'] ?? 0) * 1000,
    ...(isRestored(raw, doc) ? { restored: true } : {}),
  };
  try {
    const current = rules.upcast ? rules.upcast(doc) : doc;
    const deleted = isEmptied(raw) || rules.deleted?.(current);
    return { ...change, op: deleted ? 'delete' : 'upsert', doc: current };
  } catch (error) {
    return { ...change, op: 'upsert', doc, failed: error };
  }
}

/** A missing key value is legal in Cosmos DB; it is told by an empty object there and by null here. */
const keyWithGaps = (raw: object, paths: readonly KeyPath[]): Key =>
  paths.map((path) => {
    const level = fullKey(raw, [path]);
    return 'key' in level ? (level.key[0] ?? null) : null;
  });

/** The document as its writer wrote it: without Cosmos DB's fields and ours. */
export function withoutSystemFields(raw: Record<string, unknown>): Record<string, unknown> {
  const { _rid, _self, _etag, _attachments, _ts, _lsn, _src, _mr, ...doc } = raw;
  return doc;
}

/** A document read from the source (not from its feed), as its projections see it; null where it counts as deleted. */
export function toDocument(source: SourceContainer, raw: Record<string, unknown>): Record<string, unknown> | null {
  const rules = source.types.get(String(raw['type']));
  if (!rules || isEmptied(raw)) return null;
  const doc = withoutSystemFields(raw);
  const current = rules.upcast ? rules.upcast(doc) : doc;
  return rules.deleted?.(current) ? null : current;
}
