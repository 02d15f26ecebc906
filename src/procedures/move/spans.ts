// The keys of mappings and of moves, as codes.
import type { MillraceError } from '../../base/errors.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { encodeKey } from '../../shards/keys/key-type.ts';
import { type KeySpan, isSameSpan } from '../../shards/keys/spans.ts';
import type { InspectedMapping, KeyValue, ShardMap } from '../../shards/index.ts';

type Keys = Readonly<Record<'key' | 'low' | 'high', KeyValue>>;

/** @throws UsageError `shard-key-invalid` */
export function spanOf({ keyType }: Pick<ShardMap, 'keyType'>, { key, low, high }: Partial<Keys>): KeySpan {
  if (key !== undefined) return { low: encodeKey(keyType, key), high: encodeKey(keyType, key) };
  return {
    low: low === undefined ? '' : encodeKey(keyType, low),
    ...(high !== undefined && { high: encodeKey(keyType, high) }),
  };
}

/** The mapping of exactly the keys of a move. */
export const mappingOfMove = async (map: ShardMap, move: KeySpan): Promise<InspectedMapping | undefined> =>
  (await map.inspect()).mappings.find((one) => isSameSpan(spanOf(map, one), move));

export const noMapping = ({ name }: ShardMap, keys: string): MillraceError =>
  sharedError('not-found', `No mapping of ${name} is exactly ${keys} any more`, {
    hint: `Run \`millrace shards show ${name}\` to see the mappings.`,
  });
