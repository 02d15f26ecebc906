import { digest, isObject } from '../../base/json.ts';
import { sharedError } from '../../base/shared-errors.ts';
import type { MultiShardQueryInput } from './types.ts';
import type { QueriedShard } from './shard-reading.ts';
import type { ShardState } from './snapshot.ts';

/** Where a reading is. It names its shards and what it leaves out in each, so that it goes on with the map it began with. */
export interface ReadingState {
  readonly shards: readonly ({ readonly id: string; readonly place: QueriedShard } & ShardState)[];
  readonly failed: readonly { readonly id: string; readonly reason: string }[];
  /** Rows that are still to be passed over, and those that may still be given. Absent: any number. */
  readonly skip: number;
  readonly left?: number;
}

/** What a continuation belongs to. */
export const queryAskedOf = ({ map, container, sql, withOwn = false }: MultiShardQueryInput): string =>
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
  if (isObject(read) && read['asked'] === asked && isState(read['state'])) return read['state'];
  throw sharedError('continuation-invalid', 'The continuation does not belong to this query of this shard map', {
    hint: 'Pass the continuation as it was returned, with the same map, container, query and parameters.',
  });
}

/** A continuation comes from outside. */
function isState(state: unknown): state is ReadingState {
  if (!isObject(state) || !Array.isArray(state['shards']) || !Array.isArray(state['failed'])) return false;
  const {
    shards,
    failed,
    skip,
    left = 0,
  } = state as { shards: unknown[]; failed: unknown[]; skip: unknown; left?: unknown };
  return (
    shards.every(isShardState) && failed.every((one) => hasTexts(one, ['id', 'reason'])) && [skip, left].every(isCount)
  );
}

function isShardState(shard: unknown): boolean {
  if (!hasTexts(shard, ['id']) || !isObject(shard['place']) || !Array.isArray(shard['strays'])) return false;
  const { token = '', skip } = shard['place'];
  const isSpan = (one: unknown): boolean => hasTexts(one, ['low']) && hasTexts({ high: '', ...one }, ['high']);
  return isCount(shard['generation']) && isCount(skip) && typeof token === 'string' && shard['strays'].every(isSpan);
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

const hasTexts = (value: unknown, names: readonly string[]): value is Record<string, unknown> =>
  isObject(value) && names.every((name) => typeof value[name] === 'string');
