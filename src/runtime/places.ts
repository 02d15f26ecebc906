// The stored shard map of a pipeline, and the places that it works in.
import type { Database } from '@azure/cosmos';
import { mapSettled } from '../base/map-settled.ts';
import { once } from '../base/once.ts';
import { type Settings, requireShardMaps } from '../base/settings.ts';
import { splitPath } from '../cosmos/paths.ts';
import { type PlaceKind, partOf, specPlaceOf, shardedContainers } from '../pipeline/places.ts';
import type { DerivedSpec } from '../pipeline/specs.ts';
import { type Shard, type ShardMap, ShardMapManager } from '../shards/index.ts';
import { type ShardLocation, addressOf, isSameLocation, shownLocation } from '../shards/map/documents.ts';
import { type Router, openRouter } from '../shards/routing/router.ts';
import { runtimeError } from './errors.ts';
import type { Parts } from './open-feed.ts';
import type { Place, Services } from './workspace.ts';

/** Which level of a sharded container's key the map has; -1: none. */
export function mappedLevel(
  { sharded }: ShardMap['schema'],
  { name, keyPaths }: { readonly name: string; readonly keyPaths: readonly (readonly string[])[] },
): number {
  const path = splitPath(sharded[name] ?? '').join('/');
  return keyPaths.findIndex((one) => one.join('/') === path);
}

/** Places that are worked in at the same time. Each may have its documents in memory. */
export const PLACES_AT_ONCE = 4;

/** A shard of the map that can be used. */
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

/** Whether a shard is at a place. */
export const isShardAt = (
  { location }: ShardPlace,
  { cosmos }: Settings,
  { endpoint, database }: Pick<Place, 'endpoint'> & { readonly database: Pick<Database, 'id'> },
): boolean => isSameLocation({ endpoint: cosmos.endpoint, ...location }, { endpoint, database: database.id });

/** A shard that was attached elsewhere is another place. */
const placeKey = ({ shard, location }: ShardPlace): string =>
  `${shard.id} ${location.endpoint ?? ''} ${location.database}`;

/** The part of a pipeline that runs in one place, with the services there. */
export interface OpenPlace<L = Parts['loaded']> extends Parts {
  readonly loaded: L & Parts['loaded'];
  /** Name of the shard. Absent: the place of the settings. */
  readonly shard?: string;
}

/** A place of a pipeline. */
export interface PipelinePlace<L = Parts['loaded']> extends Pick<OpenPlace<L>, 'loaded' | 'shard'> {
  /** The same for as long as it is the same place. */
  readonly key: string;
  /** @throws UsageError `unreachable`, `denied`, `multi-region-writes` */
  readonly open: () => Promise<OpenPlace<L>>;
}

/** The only way to the places of a pipeline. Each call reads the shard map as it is then; without one there is one place. */
export interface PipelinePlaces<L = Parts['loaded']> {
  /** That of the settings first. Its services know those of every shard. */
  list(): Promise<PipelinePlace<L>[]>;
  /** Those whose hosts run a declaration. `shards`: of the shards only these, by their keys. */
  of(spec: DerivedSpec, shards?: ReadonlySet<string>): Promise<PipelinePlace<L>[]>;
  /**
   * The key of the shard that alone has the documents of a tenant. Undefined: while it moves, or without a mapping, any
   * shard may have some.
   */
  home(tenant: string | number): Promise<string | undefined>;
}

export function placesOf<L extends Parts['loaded']>(
  parts: Omit<Parts, 'loaded'> & { readonly loaded: L },
): PipelinePlaces<L> {
  const { loaded, services, settings } = parts;
  const { pipeline, model } = loaded;
  const schema = pipeline.part ? undefined : shardedContainers(pipeline, model);
  const partAt = (place: PlaceKind): L => ({ ...loaded, pipeline: partOf(pipeline, model, place) });
  const list = async (): Promise<PipelinePlace<L>[]> => {
    const home = { settings, loaded: partAt('global') };
    if (!pipeline.shards || pipeline.part) return [{ ...home, key: '', open: async () => ({ ...home, services }) }];
    const ofShard = partAt('shard');
    const shards = (await shardPlaces(await openShardMap(parts), settings)).map((place) => ({
      key: placeKey(place),
      shard: place.name,
      loaded: ofShard,
      open: async () => ({
        settings,
        loaded: ofShard,
        shard: place.name,
        services: await services.at(place.location),
      }),
    }));
    const all = once(() => Promise.all(shards.map(async ({ open }) => (await open()).services)));
    return [{ ...home, key: '', open: async () => ({ ...home, services: withShards(services, all) }) }, ...shards];
  };
  return {
    list,
    async of(spec, shards) {
      const all = await list();
      if (!schema) return all;
      const inShards = specPlaceOf(spec, pipeline, schema) === 'shard';
      return all.filter(({ shard, key }) =>
        shard === undefined ? !inShards : inShards && (!shards || shards.has(key)),
      );
    },
    async home(tenant) {
      const map = await openShardMap(parts);
      const mapping = await map.tryMapping(tenant);
      if (mapping?.status !== 'online' || (await map.lockOwner(mapping)) !== undefined) return undefined;
      const place = (await shardPlaces(map, settings)).find(({ shard }) => shard.id === mapping.shard);
      return place && placeKey(place);
    },
  };
}

const withShards = (of: Services, shards: () => Promise<readonly Services[]>): Services => ({
  ...of,
  shards,
  inBulk: async () =>
    withShards(await of.inBulk(), async () => Promise.all((await shards()).map((shard) => shard.inBulk()))),
});

/** Opens places, and works in each, side by side. The results are in their order. */
export const inPlaces = <R, L>(
  places: readonly PipelinePlace<L>[],
  work: (place: OpenPlace<L>) => Promise<R> | R,
): Promise<R[]> => mapSettled(places, async ({ open }) => work(await open()), { concurrency: PLACES_AT_ONCE });
