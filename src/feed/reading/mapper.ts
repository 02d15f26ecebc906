import { OWN_TYPE, isOwn } from '../../cosmos/own-documents.ts';
import { isObject } from '../../base/json.ts';
import { type KeyPath, storedKey } from '../../cosmos/paths.ts';
import { SYSTEM_FIELDS } from '../../cosmos/system-fields.ts';
import type { Change, Key, Leaving, Version } from './change.ts';
import { feedError } from '../errors.ts';

/**
 * The type of the placeholder that keeps a document's place while it is restored. Only the all-versions feed delivers it,
 * as a change that no projection reads: it shows that all versions before it were delivered.
 */
export const RESTORING = `${OWN_TYPE}restoring`;

/** A container whose feed is read. */
export interface SourceContainer {
  readonly name: string;
  readonly keyPaths: readonly KeyPath[];
  /** Rules by type. Documents of other types are ignored. */
  readonly types: ReadonlyMap<string, TypeRules>;
  /** Reads the marks that Millrace stores in documents. Absent: there are no marks. */
  readonly marks?: SourceMarks;
  /** Reads the tenant that each document belongs to. Absent: the documents belong to no tenant. */
  readonly tenant?: SourceTenant;
}

export interface SourceTenant {
  /** The top-level field with the tenant. */
  readonly field: string;
  /** The tenant of a document, as text. Throws for a document that names no valid tenant. */
  of(doc: Record<string, unknown>): string;
}

/** But for `isEmptied`, a document is asked for marks only if it has a field `_mr` or `ttl`. */
export interface SourceMarks {
  /** True: the document still exists, but counts as deleted. */
  isEmptied(raw: Record<string, unknown>): boolean;
  /** True: the document came back from the archive and did not change since. `doc`: without system fields. */
  isRestored(raw: Record<string, unknown>, doc: Record<string, unknown>): boolean;
  /** True: a backfill wrote the document, and it did not change since. `doc`: without system fields. */
  isBackfilled(raw: Record<string, unknown>, doc: Record<string, unknown>): boolean;
  /** What a move wrote; undefined if it did not write the document, or it changed since. `doc`: without system fields. */
  movedOf(raw: Record<string, unknown>, doc: Record<string, unknown>): MovedDocument | undefined;
  /** What the archive added to a document that it lets expire. `doc`: without system fields. */
  leavingOf(raw: Record<string, unknown>, doc: Record<string, unknown>): Leaving | undefined;
}

export interface MovedDocument {
  /** The version that the document counts as. `own`: the one that it has where it is. */
  versionOf(own: Version): Version;
  /** The document is in another shard now, and counts as deleted. */
  readonly gone: boolean;
  /** Embeds have changed it since, and nothing else: this version is theirs. */
  readonly echo: boolean;
}

export interface TypeRules {
  deleted?(document: Record<string, unknown>): boolean;
  upcast?(old: unknown): Record<string, unknown>;
  /** The field with the type's name, or a function that recognises documents of the type. Default: the field `type`. */
  readonly discriminator?: string | ((stored: Record<string, unknown>) => boolean);
}

/** The type of a stored document, by the rules of its container's types; undefined if no rule matches. */
export function typeOf(types: SourceContainer['types'], stored: Record<string, unknown>): string | undefined {
  const { type } = stored;
  const named = typeof type === 'string' ? types.get(type) : undefined;
  if (named && named.discriminator === undefined) return type as string;
  for (const [name, { discriminator: by }] of types)
    if (typeof by === 'string' ? stored[by] === name : by?.(stored)) return name;
  return undefined;
}

/** Whether a projection reads the type of a raw document. Does not call `upcast` and `deleted`, unlike `toChange`. */
export const isWanted = (source: SourceContainer, raw: Record<string, unknown>): boolean =>
  wantedType(source, raw) !== undefined;

const wantedType = ({ types }: SourceContainer, raw: Record<string, unknown>): string | undefined =>
  isOwn(raw) ? undefined : typeOf(types, raw);

/**
 * Makes a Change of a raw document from the feed or the Functions trigger; undefined if no projection reads its type.
 * An error of the user's `upcast` or `deleted` goes to `failed`, for the caller to isolate.
 */
export function toChange(source: SourceContainer, raw: unknown, epoch: number): Change | undefined {
  const document = documentOf(source, raw);
  const type = wantedType(source, document);
  const rules = type === undefined ? undefined : source.types.get(type);
  if (type === undefined || !rules) return undefined;
  const { name, marks } = source;
  const { key, id, version, at } = entryOf(source, document, epoch);
  const stored = feedWithoutSystemFields(document);
  // Marks are in `_mr`, or show by a `ttl`. Written out, because it runs for every change: spreading takes three times as long.
  if (!marks || (document['_mr'] === undefined && document['ttl'] === undefined)) {
    const ruled = byTenant(source, byRules(marks, rules, document, stored));
    if ('failed' in ruled) return { container: name, type, key, id, version, at, ...ruled };
    const { op, doc = stored, tenant } = ruled;
    if (tenant === undefined) return { container: name, type, key, id, version, at, op, doc };
    return { container: name, type, key, id, version, at, op, doc, tenant };
  }
  const leaving = marks.leavingOf(document, stored);
  const doc = leaving?.stored ?? stored;
  const moved = marks.movedOf(document, stored);
  const ruled = byRules(marks, rules, document, doc);
  return {
    container: name,
    type,
    key,
    id,
    version,
    at,
    ...(moved && (moved.echo ? { echo: true } : movedVersion(moved, version))),
    ...(leaving?.intact || marks.isRestored(document, doc) ? { restored: true } : {}),
    ...(marks.isBackfilled(document, doc) ? { backfilled: true } : {}),
    ...(leaving && { leaving }),
    ...(moved?.gone && { gone: true }),
    ...byTenant(source, moved?.gone ? { ...ruled, op: 'delete' } : ruled),
  };
}

function movedVersion(moved: MovedDocument, own: Version): Pick<Change, 'version' | 'moved' | 'feedLsn'> {
  const version = moved.versionOf(own);
  return { version, moved: true, ...(version.lsn !== own.lsn && { feedLsn: own.lsn }) };
}

/** Adds the tenant. A document without one fails, unless it is deleted: what was derived from it can still be removed. */
function byTenant(source: SourceContainer, ruled: Ruled): Ruled & Pick<Change, 'tenant'> {
  if (!source.tenant || ruled.doc === undefined) return ruled;
  const { failed, ...found } = feedTenantOf(source, ruled.doc);
  return failed === undefined || ruled.op === 'delete' ? { ...ruled, ...found } : { failed, ...ruled };
}

/** The tenant of a source's document, or why it has none. Both are absent where the documents belong to no tenant. */
export function feedTenantOf(
  { tenant }: Pick<SourceContainer, 'tenant'>,
  doc: Record<string, unknown>,
): Pick<Change, 'tenant' | 'failed'> {
  try {
    return tenant ? { tenant: tenant.of(doc) } : {};
  } catch (error) {
    return { failed: error };
  }
}

function documentOf({ name }: AnySource, raw: unknown): Record<string, unknown> {
  if (isObject(raw)) return raw;
  throw feedError('malformed-change', `The feed of ${name} delivered an entry that is not a document`);
}

/** The fields of a change that don't depend on its type. */
function entryOf(
  { name, keyPaths }: AnySource,
  raw: Record<string, unknown>,
  epoch: number,
): Pick<Change, 'key' | 'id' | 'version' | 'at'> {
  const lsn = Number(raw['_lsn']);
  const { _etag: etag, id, _ts: at = 0 } = raw;
  if (!Number.isFinite(lsn) || typeof etag !== 'string' || typeof id !== 'string')
    throw feedError('malformed-change', `A change of ${name} lacks _lsn, _etag or id`);
  return { key: storedKey(raw, keyPaths), id, version: { epoch, lsn, etag }, at: Number(at) * 1000 };
}

type Ruled = Pick<Change, 'op' | 'doc' | 'failed'>;

/** Applies the user's `upcast` and `deleted` to a document. */
function byRules(
  marks: SourceMarks | undefined,
  rules: TypeRules,
  raw: Record<string, unknown>,
  doc: Record<string, unknown>,
): Ruled {
  try {
    const current = rules.upcast ? rules.upcast(doc) : doc;
    return { op: marks?.isEmptied(raw) || rules.deleted?.(current) ? 'delete' : 'upsert', doc: current };
  } catch (error) {
    return { op: 'upsert', doc, failed: error };
  }
}

/** A container whose documents are all read, of any type. */
export type AnySource = Pick<SourceContainer, 'name' | 'keyPaths'>;

/** The same for a reader without types. `doc` is the delivered document, with its system fields. */
export function toAnyChange(source: AnySource, raw: unknown, epoch: number): Change {
  const doc = documentOf(source, raw);
  const type = typeof doc['type'] === 'string' ? doc['type'] : '';
  return { container: source.name, type, ...entryOf(source, doc, epoch), op: 'upsert', doc };
}

/** Reads an entry of the all-versions feed, `{ current, previous, metadata }`. `map` makes a Change of `current`. */
export function toVersion(
  source: AnySource | SourceContainer,
  raw: unknown,
  epoch: number,
  map: (document: unknown) => Change | undefined,
): Change | undefined {
  const { name, keyPaths } = source;
  const metadata = isObject(raw) ? raw['metadata'] : undefined;
  if (!isObject(raw) || !isObject(metadata))
    throw feedError('malformed-change', `An entry of the all-versions feed of ${name} lacks its metadata`);
  const { operationType, lsn, crts, id, partitionKey, timeToLiveExpired } = metadata;
  const previous = isObject(raw['previous']) ? raw['previous'] : undefined;
  const before = previous ? { before: previous } : {};
  if (operationType !== 'delete') {
    const current = isObject(raw['current']) ? { ...raw['current'], _lsn: lsn } : raw['current'];
    const change = map(current) ?? placeholder(source, current, epoch);
    return change && { ...change, ...before, operation: operationType === 'create' ? 'create' : 'replace' };
  }
  if (typeof id !== 'string' || !isObject(partitionKey))
    throw feedError('malformed-change', `A deletion of ${name} lacks its id or partition key`);
  const key = storedKey(
    partitionKey,
    keyPaths.map((path) => path.slice(-1)),
  );
  return {
    container: name,
    type: deletedType(source, previous),
    key,
    id,
    ...tenantByKey(source, key, previous),
    // A deletion has no etag. Its lsn distinguishes it from every other version of the document.
    version: { epoch, lsn: Number(lsn), etag: `deleted@${Number(lsn)}` },
    at: Number(crts ?? 0) * 1000,
    op: 'delete',
    operation: timeToLiveExpired === true ? 'expired' : 'delete',
    ...before,
  };
}

/** The tenant of a document that may be deleted: known from its key, or from the document if there is one. */
export function tenantByKey(
  source: AnySource | SourceContainer,
  key: Key,
  previous?: Record<string, unknown>,
): Pick<Change, 'tenant'> {
  if (!('tenant' in source)) return {};
  const tenant = tenantOfKey(source, key, previous);
  return tenant === undefined ? {} : { tenant };
}

/** The tenant that a key names. If the tenant is no level of the key: that of the document. Undefined: neither names one. */
export function tenantOfKey(
  source: Pick<SourceContainer, 'keyPaths' | 'tenant'>,
  key: Key,
  doc: Record<string, unknown> = {},
): string | undefined {
  if (!source.tenant) return undefined;
  const { field } = source.tenant;
  const level = source.keyPaths.findIndex(([name, ...deeper]) => name === field && deeper.length === 0);
  return feedTenantOf(source, level === -1 ? doc : { [field]: key[level] }).tenant;
}

function placeholder(source: AnySource, current: unknown, epoch: number): Change | undefined {
  if (!isObject(current) || current['type'] !== RESTORING) return undefined;
  return { container: source.name, type: RESTORING, ...entryOf(source, current, epoch), op: 'upsert' };
}

/** The type of a deletion without the deleted document is known only if the container has one type. */
function deletedType(source: AnySource | SourceContainer, previous: Record<string, unknown> | undefined): string {
  if (!('types' in source)) return typeof previous?.['type'] === 'string' ? previous['type'] : '';
  const [only] = source.types.keys();
  return (previous ? typeOf(source.types, previous) : source.types.size === 1 ? only : undefined) ?? '';
}

const NOT_THE_WRITERS = new Set([...SYSTEM_FIELDS, '_src', '_mr']);

/** The document as its writer wrote it, without the fields of Cosmos DB and of Millrace. */
export function feedWithoutSystemFields(raw: Record<string, unknown>): Record<string, unknown> {
  const doc: Record<string, unknown> = {};
  // A loop, because it runs for every change: a rest pattern takes three times as long.
  for (const name in raw) {
    if (name[0] !== '_') doc[name] = raw[name];
    // An assignment would lose a field with the name `__proto__`.
    else if (!NOT_THE_WRITERS.has(name))
      Object.defineProperty(doc, name, { value: raw[name], enumerable: true, writable: true, configurable: true });
  }
  return doc;
}

/** A document that was read from the source (not from its feed), as projections see it; null if it counts as deleted. */
export function toDocument(source: SourceContainer, raw: Record<string, unknown>): Record<string, unknown> | null {
  const type = typeOf(source.types, raw);
  const rules = type === undefined ? undefined : source.types.get(type);
  if (!rules || source.marks?.isEmptied(raw)) return null;
  const stored = feedWithoutSystemFields(raw);
  if (source.marks?.movedOf(raw, stored)?.gone) return null;
  const doc = source.marks?.leavingOf(raw, stored)?.stored ?? stored;
  const current = rules.upcast ? rules.upcast(doc) : doc;
  return rules.deleted?.(current) ? null : current;
}
