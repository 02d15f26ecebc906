import type { Key } from '../../feed/reading/change.ts';
import type { SourceContainer } from '../../feed/reading/mapper.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { isShardAt, mappedLevel, openShardMap, shardPlaces } from '../../runtime/places.ts';
import type { InspectedMapping, ShardMap } from '../../shards/index.ts';
import { homesIn } from '../shards/mapped.ts';
import { isOfMove } from '../move/record.ts';

/**
 * Reads, at each call, which keys of a source a sweep, a restore or a backfill in this shard must leave alone: those that
 * move, because a mover copies what it has read, and those that the map gives to another shard. Undefined: the source isn't
 * sharded here.
 */
export async function foreignKeys(parts: Parts, source: Source): Promise<ReadKeys | undefined> {
  const map = await mapHere(parts, source);
  return map && keysNotHere(map, parts, source);
}

/** The same, of a map that is open. */
export const keysNotHere =
  (map: ShardMap, parts: Parts, source: Source): ReadKeys =>
  async () => {
    const own = await shardHere(map, parts);
    return keysOf(map, source, ({ owner, shard }) => isOfMove(owner) || shard !== own);
  };

/** The map by whose keys a source is sharded here. Undefined: this place has all of its documents. */
export async function mapHere(parts: Parts, { name }: Pick<Source, 'name'>): Promise<ShardMap | undefined> {
  const { part } = parts.loaded.pipeline;
  return part?.place === 'shard' && part.inShards.has(name) ? openShardMap(parts) : undefined;
}

/** The id of the shard in whose place the services are. */
export async function shardHere(map: ShardMap, { services, settings }: Parts): Promise<string | undefined> {
  return (await shardPlaces(map, settings)).find((one) => isShardAt(one, settings, services.place))?.shard.id;
}

/** Reads, at each call, which keys of a sharded source move now. */
export async function movingKeys(parts: Parts, source: Source): Promise<ReadKeys> {
  const map = await openShardMap(parts);
  return () => keysOf(map, source, ({ owner }) => isOfMove(owner));
}

type Source = Pick<SourceContainer, 'name' | 'keyPaths'>;
export type ReadKeys = () => Promise<(key: Key) => boolean>;

/** Whether a key of a source is one of a mapping that `chosen` has. */
async function keysOf(
  map: ShardMap,
  source: Source,
  chosen: (mapping: InspectedMapping) => boolean,
): Promise<(key: Key) => boolean> {
  const level = mappedLevel(map.schema, source);
  const homeOf = await homesIn(map);
  return (key) => {
    const mapping = homeOf(key[level]);
    return mapping !== undefined && chosen(mapping);
  };
}
