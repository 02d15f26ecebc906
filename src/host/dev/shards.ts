// The shards of a development run: embedded databases, and a shard map that gives each tenant to one of them in turn.
import type { Database } from '@azure/cosmos';
import type { Settings } from '../../base/settings.ts';
import { once } from '../../base/once.ts';
import { partOf, shardedContainers } from '../../pipeline/places.ts';
import { planModel } from '../../procedures/apply/apply.ts';
import { verifyEvery } from '../../procedures/verify/verify-every.ts';
import type { Verification } from '../../procedures/verify/verify.ts';
import { type ShardMap, ShardMapManager } from '../../shards/index.ts';
import { inPlaces, openShardMap, placesOf, useManager } from '../../runtime/places.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { operationsError } from '../../procedures/errors.ts';

export interface StageParts {
  readonly settings: Settings;
  readonly services: Services;
  readonly loaded: LoadedPipeline;
}

/** The database that has the documents of a key. */
export type DatabaseOf = (container: string, key: readonly unknown[]) => Promise<Database>;

/** A place, and what its comparison found. */
export interface PlaceVerification {
  readonly place: string;
  readonly verification: Verification;
}

/** @throws UsageError `input-invalid` */
export function assertShards({ pipeline }: LoadedPipeline, shards: number | undefined, account: boolean): void {
  if (pipeline.shards && shards === undefined && !account)
    throw operationsError('input-invalid', `The pipeline ${pipeline.name} is over shards, and --shards is not given`);
  if (shards === undefined) return;
  if (!pipeline.shards) throw operationsError('input-invalid', `The pipeline ${pipeline.name} is not over shards`);
  if (account)
    throw operationsError(
      'input-invalid',
      '--shards makes embedded databases, and --account uses those of the settings',
    );
}

/** Makes the store of maps, the map and its shards, where they aren't there yet. */
export async function prepareShards(count: number, parts: StageParts): Promise<DatabaseOf> {
  const { services, settings, loaded } = parts;
  const { pipeline, model } = loaded;
  const name = pipeline.shards?.map ?? '';
  const { client } = services.place.database;
  const { database } = await client.databases.createIfNotExists({ id: settings.shardMaps?.database ?? '' });
  for (const id of ['shardmaps', 'routers'])
    await database.containers.createIfNotExists({ id, partitionKey: '/pk', defaultTtl: -1 });
  const options = { database, connect: services.places.connect };
  const manager = (await ShardMapManager.tryGet(options)) ?? (await ShardMapManager.create(options));
  useManager(services, manager);
  const stated = shardedContainers(pipeline, model);
  const schema = {
    sharded: Object.fromEntries(
      Object.entries(stated?.sharded ?? {}).map(([of, path]) => [of, path ?? `/${pipeline.tenant ?? ''}`]),
    ),
    reference: stated?.reference ?? [],
  };
  if (!(await manager.tryGetMap(name))) await manager.createListMap(name, { keyType: 'text', schema });
  const map = await openShardMap(parts);
  const shard = { ...loaded, pipeline: partOf(pipeline, model, 'shard') };
  for (let n = 1; n <= count; n++) {
    const location = { database: `shard-${n}` };
    const there = await services.at(location);
    for (const step of await planModel(shard, there)) await step.apply();
    await there.place.database.containers.createIfNotExists({ id: 'shardmap', partitionKey: '/pk', defaultTtl: -1 });
    const known = (await map.shards()).some((of) => of.location.database === location.database);
    if (!known) await map.createShard(location);
  }
  return databasesBy(map, services, new Set(Object.keys(schema.sharded)));
}

/** Gives a tenant that has no shard yet to the next one, in turn. */
async function databasesBy(map: ShardMap, services: Services, sharded: ReadonlySet<string>): Promise<DatabaseOf> {
  const shards = await map.shards();
  const homes = new Map<string, () => Promise<Database>>();
  let turn = 0;
  const find = async (key: string): Promise<Database> => {
    const next = shards[turn++ % shards.length];
    const mapping = (await map.tryMapping(key)) ?? (next && (await map.createMapping({ shard: next, key })));
    const { location } = shards.find(({ id }) => id === mapping?.shard) ?? {};
    return (await services.at(location ?? { database: '' })).place.database;
  };
  return async (container, [first]) => {
    if (!sharded.has(container)) return services.place.database;
    const key = String(first);
    const known = homes.get(key) ?? once(() => find(key));
    homes.set(key, known);
    return known();
  };
}

/** Compares each place with its documents, and the global place with those of all shards. */
export async function verifyPlaces(
  parts: StageParts,
  options: Parameters<typeof verifyEvery>[2],
): Promise<PlaceVerification[]> {
  return inPlaces(await placesOf(parts).list(), async ({ shard, loaded, services }) => ({
    place: shard ?? 'global place',
    verification: await verifyEvery(loaded, services, options),
  }));
}
