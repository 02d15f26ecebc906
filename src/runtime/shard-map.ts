// The stored shard map of a pipeline, and its shards as places.
import { type Settings, requireShardMaps } from '../base/settings.ts';
import { splitPath } from '../cosmos/paths.ts';
import { partOf, specPlaceOf, shardedContainers } from '../pipeline/places.ts';
import type { DerivedSpec } from '../pipeline/specs.ts';
import { type Shard, type ShardMap, ShardMapManager } from '../shards/index.ts';
import { type ShardLocation, addressOf, shownLocation } from '../shards/map/documents.ts';
import { type Router, openRouter } from '../shards/routing/router.ts';
import { runtimeError } from './errors.ts';
import type { Parts } from './open-feed.ts';
import type { LoadedPipeline, Services } from './workspace.ts';

/** Which level of a sharded container's key the map has; -1: none. */
export function mappedLevel(
  { sharded }: ShardMap['schema'],
  { name, keyPaths }: { readonly name: string; readonly keyPaths: readonly (readonly string[])[] },
): number {
  const path = splitPath(sharded[name] ?? '').join('/');
  return keyPaths.findIndex((one) => one.join('/') === path);
}

/** A shard as a place of a pipeline. */
export interface ShardPlace {
  readonly shard: Shard;
  /** Its database; with the account where several shards have this name. */
  readonly name: string;
  readonly location: ShardLocation;
}

/** One manager for all uses of a process: each reads the maps for itself. */
const managers = new WeakMap<Services['places'], Promise<ShardMapManager>>();

/** For a process that has opened a manager already. */
export const useManager = ({ places }: Pick<Services, 'places'>, manager: ShardMapManager): void =>
  void managers.set(places, Promise.resolve(manager));

/**
 * Opens the map of a pipeline over shards.
 * @throws UsageError `setting-missing`, `shard-map-differs`; MillraceError `not-found`
 */
export async function openShardMap({ settings, services, loaded }: Parts): Promise<ShardMap> {
  const { pipeline, model } = loaded;
  const maps = requireShardMaps(settings);
  const connect = (location: ShardLocation) =>
    services.places.connect(located(settings, location), { purpose: 'routing' });
  const opening = managers.get(services.places) ?? ShardMapManager.get({ database: connect(maps), connect });
  managers.set(services.places, opening);
  opening.catch(() => managers.delete(services.places));
  const map = await (await opening).getMap(pipeline.shards?.map ?? '');
  const stated = shardedContainers(pipeline, model);
  const { sharded, reference = [] } = map.schema;
  for (const [what, inStore, inDocument] of [
    ['sharded', Object.keys(sharded), Object.keys(stated?.sharded ?? {})],
    ['reference', reference, stated?.reference ?? []],
  ] as const) {
    const other = [
      ...inStore.filter((name) => !inDocument.includes(name)),
      ...inDocument.filter((name) => !inStore.includes(name)),
    ];
    if (other.length === 0) continue;
    const message = `The shard map ${map.name} has other ${what} containers than ${model.file} states: ${other.join(', ')}`;
    throw runtimeError('shard-map-differs', message);
  }
  return map;
}

/**
 * Opens a router of a pipeline's map. The caller closes it: a move of keys waits for routers that are open.
 * @throws as `openShardMap`
 */
export async function openPipelineRouter(parts: Parts): Promise<Router> {
  const { settings, services } = parts;
  const map = await openShardMap(parts);
  const connect = (location: ShardLocation) => services.places.connect(located(settings, location));
  const database = services.places.connect(located(settings, requireShardMaps(settings)), { purpose: 'routing' });
  return openRouter(map.name, { database, connect });
}

/** The shards that can be used now: none whose database is lost. */
export async function shardPlaces(map: ShardMap, settings: Settings): Promise<ShardPlace[]> {
  const shards = (await map.shards()).filter(({ detached }) => !detached);
  return shards.map((shard) => {
    const { database } = shard.location;
    const alone = shards.filter(({ location }) => location.database === database).length === 1;
    return {
      shard,
      name: alone ? database : shownLocation(shard.location),
      location: located(settings, shard.location),
    };
  });
}

/**
 * A location without an endpoint is in the account of the maps. The account of the settings is always named by their
 * address, because the names of leases have it.
 */
function located({ cosmos, shardMaps }: Settings, { database, endpoint = shardMaps?.endpoint }: ShardLocation) {
  return addressOf({ endpoint: endpoint ?? cosmos.endpoint }) === addressOf(cosmos)
    ? { database }
    : { database, ...(endpoint !== undefined && { endpoint }) };
}

/** A shard that was attached elsewhere is another place. */
export const placeKey = ({ shard, location }: ShardPlace): string =>
  `${shard.id} ${location.endpoint ?? ''} ${location.database}`;

/**
 * The key of the shard that alone has the documents of a tenant. Undefined: while it moves, or without a mapping, any
 * shard may have some.
 */
export async function runtimeShardOf(parts: Parts, tenant: string | number): Promise<string | undefined> {
  const map = await openShardMap(parts);
  const mapping = await map.tryMapping(tenant);
  if (mapping?.status !== 'online' || (await map.lockOwner(mapping)) !== undefined) return undefined;
  const place = (await shardPlaces(map, parts.settings)).find(({ shard }) => shard.id === mapping.shard);
  return place && placeKey(place);
}

/** A place of a pipeline, with the part that its hosts run. */
export interface PipelinePlace<L> {
  /** The same for as long as it is the same place. */
  readonly key: string;
  /** Name of the shard. Absent: the place of the settings. */
  readonly shard?: string;
  readonly loaded: L;
  /** @throws UsageError `unreachable`, `denied`, `multi-region-writes` */
  readonly open: () => Promise<Services>;
}

/** The places of a pipeline, that of the settings first. Without shards it is the only one, with the whole pipeline. */
export async function pipelinePlaces<L extends Pick<LoadedPipeline, 'pipeline' | 'model'>>(
  parts: Omit<Parts, 'loaded'> & { readonly loaded: L },
): Promise<PipelinePlace<L>[]> {
  const { loaded, services, settings } = parts;
  const { pipeline, model } = loaded;
  const home = {
    key: '',
    loaded: { ...loaded, pipeline: partOf(pipeline, model, 'global') },
    open: async () => services,
  };
  if (!pipeline.shards || pipeline.part) return [home];
  const ofShard = { ...loaded, pipeline: partOf(pipeline, model, 'shard') };
  const shards = await shardPlaces(await openShardMap(parts), settings);
  return [
    home,
    ...shards.map((place) => ({
      key: placeKey(place),
      shard: place.name,
      loaded: ofShard,
      open: () => services.at(place.location),
    })),
  ];
}

/**
 * The places whose hosts run a declaration: each shard, or the place of the settings. `shards`: the keys of those that
 * matter.
 */
export async function placesRunning(
  parts: Parts,
  spec: DerivedSpec,
  shards?: ReadonlySet<string>,
): Promise<PipelinePlace<Parts['loaded']>[]> {
  const { pipeline, model } = parts.loaded;
  const schema = shardedContainers(pipeline, model);
  const all = await pipelinePlaces(parts);
  if (!schema || pipeline.part) return all;
  const inShards = specPlaceOf(spec, pipeline, schema) === 'shard';
  return all.filter(({ shard, key }) => (shard === undefined ? !inShards : inShards && (!shards || shards.has(key))));
}
