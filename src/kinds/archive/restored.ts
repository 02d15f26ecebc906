import { digest, isObject } from '../../base/json.ts';
import { assertFormat } from '../../base/format.ts';
import type { Version } from '../../feed/reading/change.ts';

/** The mark `_mr.restored` of a document that came back from the archive, until it changes. */
export interface RestoredMark {
  /** The version that was archived. */
  readonly epoch: number;
  readonly lsn: number;
  /** A digest of its content. After a change that keeps `_mr` the digest differs, so the mark no longer counts. */
  readonly digest: string;
}

export const restoredMark = ({ epoch, lsn }: Version, doc: Record<string, unknown>): RestoredMark => ({
  epoch,
  lsn,
  digest: digest(doc),
});

/**
 * Whether a stored document is unchanged since the archive restored it. `doc`: the same without system fields.
 * @throws FormatUnreadable
 */
export function isRestored(raw: Record<string, unknown>, doc: Record<string, unknown>): boolean {
  const own = raw['_mr'];
  if (!isObject(own)) return false;
  assertFormat('own', own['format'], raw['id']);
  return isObject(own['restored']) && own['restored']['digest'] === digest(doc);
}
