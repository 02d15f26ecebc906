import type { Key } from '../../feed/reading/change.ts';
import type { SourceContainer } from '../../feed/reading/mapper.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { mappedLevel, openShardMap, shardPlaces } from '../../runtime/shard-map.ts';
import type { InspectedMapping, ShardMap } from '../../shards/index.ts';
import { isSameLocation } from '../../shards/map/documents.ts';
import { mappedBy, shardMappingOf } from '../shards/mapped.ts';
import { codeOf } from '../move/keyed-part.ts';
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
  const { endpoint, database } = services.place;
  const here = { endpoint, database: database.id };
  const own = (await shardPlaces(map, settings)).find(({ location }) =>
    isSameLocation({ endpoint: settings.cosmos.endpoint, ...location }, here),
  );
  return own?.shard.id;
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
  const find = await mappings(map, source);
  return (key) => {
    const mapping = find(key);
    return mapping !== undefined && chosen(mapping);
  };
}

/** Finds the mapping of a key. */
async function mappings(map: ShardMap, source: Source): Promise<(key: Key) => InspectedMapping | undefined> {
  const level = mappedLevel(map.schema, source);
  const mapped = mappedBy(map, (await map.inspect()).mappings);
  return (key) => {
    const code = codeOf(map, key[level]);
    // A key in another form than the map's has none.
    return code === undefined ? undefined : shardMappingOf(mapped, code);
  };
}
