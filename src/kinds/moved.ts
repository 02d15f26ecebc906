import { assertFormat, formatOf } from '../base/format.ts';
import { digest, isObject } from '../base/json.ts';
import type { Key, Version } from '../feed/reading/change.ts';
import { feedWithoutSystemFields } from '../feed/reading/mapper.ts';

/** The mark `_mr.moved` of a document that a move or a migration wrote last, until it changes. */
export interface MovedMark {
  /** A digest of its content. After a change that keeps `_mr` the digest differs, so the mark no longer counts. */
  readonly digest: string;
  /** Of a copy: the container, identity and version that it was copied from. */
  readonly rid?: string;
  readonly pk?: Key;
  readonly id?: string;
  readonly lsn?: number;
  readonly etag?: string;
  /**
   * The version counts as one of this epoch. Of a copy: it is the version that it was copied from. Absent: it has the
   * version that it has where it is.
   */
  readonly epoch?: number;
  /** A copy of an archived document: it leaves again once hosts have it. */
  readonly cold?: true;
  /** A copy of which the map may still give the keys to the other shard: embeds leave it as it is. */
  readonly ahead?: true;
  /** Embeds have changed the document since a move wrote it, and nothing else. It has the version that it has where it is. */
  readonly echo?: true;
  /** The document is elsewhere now: it counts as deleted here, and expires. */
  readonly gone?: true;
}

/** What `_mr` becomes when a move writes `doc`, without system fields. Other marks stay. */
export const movedOwn = (
  own: unknown,
  mark: Omit<MovedMark, 'digest'>,
  doc: Record<string, unknown>,
): Record<string, unknown> => ({
  ...(isObject(own) ? own : {}),
  ...formatOf('own'),
  moved: { ...mark, digest: digest(doc) } satisfies MovedMark,
});

/**
 * The mark of a stored document that is unchanged since a move wrote it. `doc`: the same without system fields.
 * @throws FormatUnreadable
 */
export function movedMarkOf(raw: Record<string, unknown>, doc: Record<string, unknown>): MovedMark | undefined {
  const own = raw['_mr'];
  if (!isObject(own) || !isObject(own['moved'])) return undefined;
  assertFormat('own', own['format'], raw['id']);
  const mark = own['moved'] as unknown as MovedMark;
  return mark.digest === digest(doc) ? mark : undefined;
}

/** Whether a stored document is as a move wrote it. */
export const isCopied = (stored: Record<string, unknown>): boolean =>
  movedMarkOf(stored, feedWithoutSystemFields(stored)) !== undefined;

/** Whether a stored document is the marker of one that a move has taken elsewhere. */
export const hasLeft = (stored: Record<string, unknown>): boolean =>
  movedMarkOf(stored, feedWithoutSystemFields(stored))?.gone === true;

/**
 * The version of a document with a mark, by the one that it has where it is. The ETag stays: it is compared with that of
 * the stored document only.
 */
export const movedVersionOf = ({ epoch, lsn }: MovedMark, own: Version): Version =>
  epoch === undefined ? own : { ...own, epoch, lsn: lsn ?? own.lsn };
