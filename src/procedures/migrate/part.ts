import type { FeedOptions, SqlParameter, SqlQuerySpec } from '@azure/cosmos';
import type { FeedRange } from '../../cosmos/ranges.ts';

/** The part of a container that is copied: the documents of some keys. */
export interface MigrationPart {
  /** Where the feed may have documents of the part. */
  readonly ranges: readonly FeedRange[];
  /** Whether a stored document belongs to the part. The service's answer to `condition` is the same. */
  readonly has: (document: Readonly<Record<string, unknown>>) => boolean;
  readonly condition: string;
  /** The property with the key, in a query. */
  readonly property: string;
  /** The part of `condition` that is about the keys alone. */
  readonly within: string;
  readonly parameters: readonly SqlParameter[];
  readonly options: FeedOptions;
}

/** A query of the documents of a part, or of all. */
export function migrateQueryOf(
  select: string,
  part: MigrationPart | undefined,
): [query: string | SqlQuerySpec, options: FeedOptions] {
  if (!part) return [`${select} FROM c`, {}];
  return [{ query: `${select} FROM c WHERE ${part.condition}`, parameters: [...part.parameters] }, { ...part.options }];
}
