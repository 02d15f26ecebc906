import { effectivePartitionKey } from '../../cosmos/effective-partition-key.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import { type Change, feedLsnOf } from './change.ts';

/** Positions in the ranges of a container's feed at one moment. */
export interface FeedEnds {
  /** The container's key, which never changes: the place of a document in `ranges` follows from it. */
  readonly key: { readonly paths: readonly string[]; readonly kind: 'Hash' | 'MultiHash'; readonly version: 1 | 2 };
  /** A change at `lsn` is below the position. */
  readonly ranges: readonly (FeedRange & { readonly lsn: number })[];
}

/** Whether a change of the same numbering is at the position or before it, whatever partitions the container has now. */
export function isBelow({ key, ranges }: FeedEnds, change: Change): boolean {
  const [first, ...others] = ranges;
  const isWhole = others.length === 0 && first?.min === '' && first.max === 'FF';
  const epk = isWhole ? '' : effectivePartitionKey(change.key, key.kind, key.version);
  const range = isWhole ? first : ranges.find(({ min, max }) => min <= epk && epk < max);
  return range !== undefined && feedLsnOf(change) <= range.lsn;
}
