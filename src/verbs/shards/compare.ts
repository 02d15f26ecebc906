// Differences between a map and the local maps of its shards, and their repair.
import type { Difference as MapDifference, Shard, ShardMap } from '../../shards/index.ts';
import { shownLocation } from '../../shards/map/documents.ts';
import { spansOverlap } from '../../shards/keys/spans.ts';
import { operationsError } from '../../procedures/errors.ts';
import type { KeysInput } from './inputs.ts';
import { spanOf } from '../../procedures/move/spans.ts';
import { selectedKeysOf } from './select.ts';

export interface DifferenceRow {
  readonly keys: string;
  readonly shard: string;
  /** Status in the map; null: the map has no such mapping. */
  readonly inMap: string | null;
  /** Status in the local map of the shard. */
  readonly inShard: string | null;
  /** Why the local map as a whole doesn't count; null: it does. */
  readonly lost: string | null;
}

export function rowOf({ shard: id, inMap, inShard, lost }: MapDifference, shards: readonly Shard[]): DifferenceRow {
  const shard = shards.find((one) => one.id === id);
  return {
    keys: (inMap ?? inShard)?.text ?? '',
    shard: shard ? shownLocation(shard.location) : id,
    inMap: inMap?.status ?? null,
    inShard: inShard?.status ?? null,
    lost: lost ?? null,
  };
}

export const sayDifference = ({ keys, shard, inMap, inShard, lost }: DifferenceRow): string => {
  if (lost !== null) return lost;
  if (inMap === null) return `${keys} on ${shard}: in the shard only, ${inShard}`;
  if (inShard === null) return `${keys} on ${shard}: in the map only, ${inMap}`;
  return `${keys} on ${shard}: ${inMap} in the map, ${inShard} in the shard`;
};

/** Whether a difference has one of the keys; without flags, each has. @throws UsageError `input-invalid` */
export function choiceOf(map: ShardMap, given: KeysInput): (difference: MapDifference) => boolean {
  const { key, low, high } = given;
  if (key === undefined && low === undefined && high === undefined) return () => true;
  if (key !== undefined && (low !== undefined || high !== undefined))
    throw operationsError('input-invalid', 'Give --key, or --low and --high, not both');
  const span = spanOf(map, selectedKeysOf(map, given));
  return ({ lost, stored }) =>
    lost !== undefined || [stored.map, stored.local].some((entry) => entry !== undefined && spansOverlap(entry, span));
}
