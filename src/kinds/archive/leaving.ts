import { assertFormat, formatOf } from '../../base/format.ts';
import { digest, isObject } from '../../base/json.ts';
import { SYSTEM_FIELDS } from '../../cosmos/system-fields.ts';
import type { Change, Leaving, Version } from '../../feed/reading/change.ts';
import type { DocumentAccess, PatchOperation } from '../../access/document-access.ts';
import { restoredMark } from './restored.ts';

/**
 * The `ttl` of a document that the archive lets expire, seconds: a day, so that the feed shows what an application writes
 * back before it expires. No other number means this, so a document that lost the mark and kept the `ttl` is recognised.
 */
export const LEAVING_TTL_S = 86_417;

/** The mark `_mr.archived`: the archived version, and a digest of its content. */
interface ArchivedMark extends Version {
  /** `_ts` of the archived version, milliseconds. */
  readonly at: number;
  readonly digest: string;
  /** The `ttl` that the document had; absent if it had none. */
  readonly ttl?: number;
}

/** The fields of a document that leaves. `doc`: the archived content. */
export const leavingFields = (
  version: Version,
  at: number,
  doc: Record<string, unknown>,
): { readonly _mr: object; readonly ttl: number } => {
  const { ttl } = doc;
  const mark: ArchivedMark = { ...version, at, digest: digest(doc), ...(typeof ttl === 'number' && { ttl }) };
  return { _mr: { ...formatOf('own'), archived: mark }, ttl: LEAVING_TTL_S };
};

/**
 * Takes the archive's `ttl` and mark from a document that leaves, on its ETag. It stays then, as a restored one. False: it
 * has another version by now, or has expired.
 */
export async function stay(of: StayingDocument, access: DocumentAccess): Promise<boolean> {
  const { container, key, id, version, leaving } = of;
  if (!leaving) return false;
  const restored = restoredMark(leaving.of?.version ?? version, leaving.stored);
  const { ttl } = leaving.stored;
  const operations: PatchOperation[] = [
    { op: 'set', path: '/_mr', value: { ...formatOf('own'), restored } },
    ttl === undefined ? { op: 'remove', path: '/ttl' } : { op: 'set', path: '/ttl', value: ttl },
  ];
  const answer = await access.commit(container, key, [{ op: 'patch', id, operations, ifMatch: version.etag }]);
  return answer.kind === 'done';
}

type StayingDocument = Pick<Change, 'container' | 'key' | 'id' | 'version' | 'leaving'>;

/**
 * What the archive added to a stored document; undefined if the document doesn't leave. `doc`: without system fields.
 * @throws FormatUnreadable
 */
export function leavingOf(raw: Record<string, unknown>, doc: Record<string, unknown>): Leaving | undefined {
  if (raw['ttl'] !== LEAVING_TTL_S) return undefined;
  const { ttl: _, ...stored } = doc;
  const own = raw['_mr'];
  const mark = isObject(own) ? own['archived'] : undefined;
  if (!isObject(own) || !isObject(mark)) return { stored, intact: false };
  assertFormat('own', own['format'], raw['id']);
  const { epoch, lsn, etag, at, digest: promised, ttl } = mark as unknown as ArchivedMark;
  if (ttl !== undefined) stored['ttl'] = ttl;
  return { stored, intact: promised === digest(stored), of: { version: { epoch, lsn, etag }, at } };
}

/** A document that was read from its container, in the version that was archived if only the archive's mark was added. */
export function asArchived<D extends Record<string, unknown>>(raw: D): D | Record<string, unknown> {
  if (raw['ttl'] !== LEAVING_TTL_S) return raw;
  const doc = Object.fromEntries(Object.entries(raw).filter(([name]) => name !== '_mr' && !SYSTEM_FIELDS.has(name)));
  const leaving = leavingOf(raw, doc);
  if (!leaving?.intact || !leaving.of) return raw;
  return { ...leaving.stored, _etag: leaving.of.version.etag, _ts: leaving.of.at / 1000 };
}
