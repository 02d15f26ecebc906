import { digest, isObject } from '../../base/json.ts';
import type { Version } from '../../feed/reading/change.ts';

/** What a document that came back from the archive carries in `_mr.restored`, until it changes. */
export interface RestoredMark {
  /** Version it was archived in. */
  readonly epoch: number;
  readonly lsn: number;
  /** Of its content: a writer that keeps `_mr` but changes something has made it a document like any other. */
  readonly digest: string;
}

export const restoredMark = ({ epoch, lsn }: Version, doc: Record<string, unknown>): RestoredMark => ({
  epoch,
  lsn,
  digest: digest(doc),
});

/** Whether a stored document is as the archive gave it back; `doc` is it without system fields. */
export function isRestored(raw: Record<string, unknown>, doc: Record<string, unknown>): boolean {
  const own = raw['_mr'];
  return isObject(own) && isObject(own['restored']) && own['restored']['digest'] === digest(doc);
}
