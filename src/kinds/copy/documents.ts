import { TOMBSTONE_TTL_S } from '../../base/bounds.ts';
import { formatOf } from '../../base/format.ts';
import { isObject } from '../../base/json.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { SinkDocument } from '../../access/document-access.ts';
import type { SinkPlace } from '../locator.ts';
import { type SinkContainer, keyFields } from '../sink-container.ts';
import { type Stamp, stampOf } from '../stamp.ts';

/** The state of a joined document that a copy was made with. */
export interface JoinUse {
  /** Identifies the joined document: a digest of its identity. */
  readonly ref: string;
  /** Identifies its content: a digest of its ETag, or `none`. */
  readonly mark: string;
  /** Its version, where the feed has delivered it; null before that. */
  readonly version: { readonly epoch: number; readonly lsn: number } | null;
}

/** Millrace's own part of a copied document. */
export interface CopyOwn {
  readonly by: string;
  readonly joins?: Readonly<Record<string, JoinUse>>;
}

/** A copy as it is stored in the sink. No reader should see the types `millrace.tombstone` and `millrace.pending`. */
export type CopyDocument = SinkDocument & { readonly type: string; readonly _src: Stamp; readonly _mr: CopyOwn };

export const TOMBSTONE = 'millrace.tombstone';
/** A copy that waits for a joined document (`missing: 'wait'`). */
export const PENDING = 'millrace.pending';

export const isCopyOf = (projection: string, found: SinkDocument): found is CopyDocument =>
  isObject(found['_mr']) && found['_mr']['by'] === projection && isObject(found['_src']);

export const tombstone = (
  sink: SinkContainer,
  projection: string,
  place: SinkPlace,
  change: Pick<Change, 'key' | 'id' | 'version'>,
) => ({
  ...keyFields(sink, place.key),
  id: place.id,
  type: TOMBSTONE,
  _src: stampOf(change),
  _mr: { ...formatOf('own'), by: projection },
  ttl: TOMBSTONE_TTL_S,
});

export const pending = (
  sink: SinkContainer,
  projection: string,
  place: SinkPlace,
  change: Change,
  joins: CopyOwn['joins'],
) => ({
  ...keyFields(sink, place.key),
  id: place.id,
  type: PENDING,
  _src: stampOf(change),
  _mr: { ...formatOf('own'), by: projection, ...(joins ? { joins } : {}) },
});

/** Whether `a` is an older state of the same joined document than `b`. A state that the feed hasn't delivered is oldest. */
export function isOlderUse(a: JoinUse, b: JoinUse): boolean {
  if (a.mark === b.mark || b.version === null) return false;
  if (a.version === null) return true;
  return a.version.epoch === b.version.epoch ? a.version.lsn < b.version.lsn : a.version.epoch < b.version.epoch;
}
