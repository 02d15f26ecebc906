import { TOMBSTONE_TTL_S } from '../../base/bounds.ts';
import { formatOf } from '../../base/format.ts';
import { isObject } from '../../base/json.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { SinkDocument } from '../../access/document-access.ts';
import type { JoinUses } from '../join-use.ts';
import type { SinkPlace } from '../locator.ts';
import { type SinkContainer, keyFields } from '../sink-container.ts';
import { type Stamp, stampOf } from '../standing.ts';

/** Millrace's own part of a copied document. */
export interface CopyOwn {
  readonly by: string;
  readonly joins?: JoinUses;
}

/** A copy as it is stored in the sink. No reader should see the type `millrace.tombstone`. */
export type CopyDocument = SinkDocument & { readonly type: string; readonly _src: Stamp; readonly _mr: CopyOwn };

export const TOMBSTONE = 'millrace.tombstone';

export const isCopyOf = (projection: string, found: SinkDocument): found is CopyDocument =>
  isObject(found['_mr']) && found['_mr']['by'] === projection && isObject(found['_src']);

/** `joins`: the joined states by which the copy left a place that depends on them. */
export const tombstone = (
  sink: SinkContainer,
  projection: string,
  place: SinkPlace,
  change: Pick<Change, 'key' | 'id' | 'version'>,
  joins?: JoinUses,
) => ({
  ...keyFields(sink, place.key),
  id: place.id,
  type: TOMBSTONE,
  _src: stampOf(change),
  _mr: { ...formatOf('own'), by: projection, ...(joins && { joins }) },
  ttl: TOMBSTONE_TTL_S,
});
