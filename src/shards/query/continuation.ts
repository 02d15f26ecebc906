import { digest, isObject } from '../../base/json.ts';
import { sharedError } from '../../base/shared-errors.ts';
import type { MultiShardQueryInput } from './types.ts';
import type { Place } from './shard-reading.ts';
import type { ShardState } from './snapshot.ts';

/** Where a reading is. It names its shards and what it leaves out in each, so that it goes on with the map it began with. */
export interface ReadingState {
  readonly shards: readonly ({ readonly id: string; readonly place: Place } & ShardState)[];
  readonly failed: readonly { readonly id: string; readonly reason: string }[];
  /** Rows that are still to be passed over, and those that may still be given. Absent: any number. */
  readonly skip: number;
  readonly left?: number;
}

/** What a continuation belongs to. */
export const askedOf = ({ map, container, sql, withOwn = false }: MultiShardQueryInput): string =>
  digest([map.name, container, sql, withOwn]);

export const continuationOf = (asked: string, state: ReadingState): string =>
  Buffer.from(JSON.stringify({ asked, state })).toString('base64url');

/** @throws UsageError `continuation-invalid` */
export function stateIn(continuation: string, asked: string): ReadingState {
  let read: unknown;
  try {
    read = JSON.parse(Buffer.from(continuation, 'base64url').toString('utf8'));
  } catch {
    // Refused below.
  }
  if (isObject(read) && read['asked'] === asked && isObject(read['state']))
    return read['state'] as unknown as ReadingState;
  throw sharedError('continuation-invalid', 'The continuation does not belong to this query of this shard map', {
    hint: 'Pass the continuation as it was returned, with the same map, container, query and parameters.',
  });
}
