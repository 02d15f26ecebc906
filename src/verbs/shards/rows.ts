// Shards and mappings as the verbs print them: a mapping names the location of its shard.
import type { InspectedMapping, Shard, ShardsAndMappings } from '../../shards/index.ts';
import { shownLocation } from '../../shards/map/documents.ts';

export interface ShardRow {
  readonly id: string;
  readonly database: string;
  readonly endpoint?: string;
  readonly detached: boolean;
}

export interface MappingRow extends Pick<InspectedMapping, 'key' | 'low' | 'high' | 'status' | 'owner' | 'draining'> {
  /** The keys, for people: `[0, 10)`. */
  readonly keys: string;
  /** The location of the shard, for people. */
  readonly shard: string;
}

export function shardRowsOf({ shards = [], mappings = [] }: Partial<ShardsAndMappings>, known: readonly Shard[]) {
  return { shards: shards.map(shardRow), mappings: mappings.map((mapping) => shardMappingRow(mapping, known)) };
}

export const shardRow = ({ id, location, detached }: Shard): ShardRow => ({ id, ...location, detached });

export function shardMappingRow(mapping: InspectedMapping, known: readonly Shard[]): MappingRow {
  const { key, low, high, status, owner, draining, text } = mapping;
  const shard = known.find(({ id }) => id === mapping.shard);
  return {
    keys: text,
    ...(key !== undefined && { key }),
    ...(low !== undefined && { low }),
    ...(high !== undefined && { high }),
    shard: shard ? shownLocation(shard.location) : mapping.shard,
    status,
    ...(owner !== undefined && { owner }),
    ...(draining && { draining }),
  };
}

export const shownShard = (row: ShardRow): string => shownLocation(row);
