// Differences between a map and the local maps of its shards, and their repair.
import type { Difference as MapDifference, Shard, ShardMap } from '../../shards/index.ts';
import { encodeKey } from '../../shards/keys/key-type.ts';
import { shownLocation } from '../../shards/map/documents.ts';
import { spansOverlap } from '../../shards/keys/spans.ts';
import { operationsError } from '../../procedures/errors.ts';
import type { KeysInput } from './inputs.ts';
import { keyOf } from '../../procedures/shards/keys.ts';

export interface DifferenceRow {
  readonly keys: string;
  readonly shard: string;
  /** Status in the map; null: the map has no such mapping. */
  readonly inMap: string | null;
  /** Status in the local map of the shard. */
  readonly inShard: string | null;
}

export function rowOf({ shard: id, inMap, inShard }: MapDifference, shards: readonly Shard[]): DifferenceRow {
  const shard = shards.find((one) => one.id === id);
  return {
    keys: (inMap ?? inShard)?.text ?? '',
    shard: shard ? shownLocation(shard.location) : id,
    inMap: inMap?.status ?? null,
    inShard: inShard?.status ?? null,
  };
}

export const sayDifference = ({ keys, shard, inMap, inShard }: DifferenceRow): string => {
  if (inMap === null) return `${keys} on ${shard}: in the shard only, ${inShard}`;
  if (inShard === null) return `${keys} on ${shard}: in the map only, ${inMap}`;
  return `${keys} on ${shard}: ${inMap} in the map, ${inShard} in the shard`;
};

/** Whether a difference has one of the keys; without flags, each has. @throws UsageError `input-invalid` */
export function choiceOf(map: ShardMap, { key, low, high }: KeysInput): (difference: MapDifference) => boolean {
  if (key === undefined && low === undefined && high === undefined) return () => true;
  if (key !== undefined && (low !== undefined || high !== undefined))
    throw operationsError('input-invalid', 'Give --key, or --low and --high, not both');
  const code = (flag: string, text: string) => encodeKey(map.keyType, keyOf(map.keyType, flag, text));
  const span =
    key === undefined
      ? { low: low === undefined ? '' : code('low', low), ...(high !== undefined && { high: code('high', high) }) }
      : { low: code('key', key), high: code('key', key) };
  return ({ stored }) => [stored.map, stored.local].some((entry) => entry !== undefined && spansOverlap(entry, span));
}
