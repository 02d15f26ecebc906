import { join } from 'node:path';
import type { Container, Database } from '@azure/cosmos';
import type { AccountSettings } from '../../src/base/accounts.ts';
import type { Settings } from '../../src/base/settings.ts';
import { partOf } from '../../src/pipeline/places.ts';
import { type Emulator, type EmulatorOptions, startEmulator } from '../../src/emulator/index.ts';
import { planModel } from '../../src/procedures/apply/apply.ts';
import { loadPipeline } from '../../src/runtime/pipeline/load-pipeline.ts';
import { type OpenServices, openServices } from '../../src/runtime/services.ts';
import type { LoadedPipeline } from '../../src/runtime/workspace.ts';
import { type ShardMap, ShardMapManager } from '../../src/shards/index.ts';
import { shopSettings } from './shop-settings.ts';

/** A pipeline over the shards of a list map. */
export const SPREAD = join(import.meta.dirname, '../fixtures/spread');

/** An embedded server with the global place, the shard map `tenants` and its shards. */
export interface SpreadStage extends AsyncDisposable {
  readonly emulator: Emulator;
  readonly settings: Settings;
  readonly services: OpenServices;
  readonly loaded: LoadedPipeline;
  readonly map: ShardMap;
  /** Of the global place. */
  container(name: string): Container;
  /** Of a shard. */
  at(shard: string, name: string): Container;
  /** Makes a database and takes it into the map; `endpoint`: in another account. */
  addShard(name: string, endpoint?: string): Promise<void>;
  /** As the environment of a process that is to work on it. */
  readonly env: Readonly<Record<string, string>>;
}

export async function openSpread(
  shards: readonly string[],
  {
    folder = SPREAD,
    accounts,
    storage,
    ...options
  }: EmulatorOptions & {
    readonly folder?: string;
    readonly accounts?: readonly AccountSettings[];
    /** Of hosts: they read what is archived. */
    readonly storage?: Settings['storage'];
  } = {},
): Promise<SpreadStage> {
  const emulator = await startEmulator(options);
  const settings = shopSettings(emulator, {
    ...(accounts && { accounts }),
    ...(storage && { storage }),
    shardMaps: { endpoint: emulator.endpoint, database: 'maps' },
  });
  const services = await openServices(settings);
  const loaded = await loadPipeline(folder);
  const { map, addShard } = await openMap({ settings, services, loaded });
  const databaseOf = (name: string): Database => services.place.database.client.database(name);
  const stage: SpreadStage = {
    emulator,
    settings,
    services,
    loaded,
    map,
    container: (name) => services.place.database.container(name),
    at: (shard, name) => databaseOf(shard).container(name),
    addShard,
    env: {
      COSMOS: emulator.connectionString,
      COSMOS_DATABASE: 'shop',
      LEASES: emulator.connectionString,
      LEASES_DATABASE: 'shop',
      LEASES_CONTAINER: 'leases',
      SHARD_MAPS_DATABASE: 'maps',
    },
    [Symbol.asyncDispose]: async () => {
      services.close();
      await emulator.close();
    },
  };
  for (const name of shards) await stage.addShard(name);
  return stage;
}

/** The map `tenants` of a pipeline, in the database of the settings, and the containers of its global place. */
export async function openMap(
  { settings, services, loaded }: Pick<SpreadStage, 'settings' | 'services' | 'loaded'>,
  kind: 'list' | 'range' = 'list',
): Promise<Pick<SpreadStage, 'map' | 'addShard'>> {
  const { client } = services.place.database;
  const { database } = await client.databases.create({ id: settings.shardMaps?.database ?? '' });
  for (const id of ['shardmaps', 'routers'])
    await database.containers.create({ id, partitionKey: '/pk', defaultTtl: -1 });
  const manager = await ShardMapManager.create({ database, connect: services.places.connect });
  const [{ sharded, reference } = { sharded: {}, reference: [] }] = loaded.model.shardMaps ?? [];
  const schema = {
    sharded: Object.fromEntries(Object.entries(sharded).map(([name, path]) => [name, path ?? ''])),
    reference,
  };
  const map = await (kind === 'list'
    ? manager.createListMap('tenants', { keyType: 'text', schema })
    : manager.createRangeMap('tenants', { keyType: 'guid', schema }));
  for (const step of await planModel(loaded, services)) await step.apply();
  return {
    map,
    addShard: async (name, endpoint) => {
      const part = { ...loaded, pipeline: partOf(loaded.pipeline, loaded.model, 'shard') };
      const location = { database: name, ...(endpoint !== undefined && { endpoint }) };
      const there = await services.at(location);
      for (const step of await planModel(part, there)) await step.apply();
      await there.place.database.containers.create({ id: 'shardmap', partitionKey: '/pk', defaultTtl: -1 });
      await map.createShard(location);
    },
  };
}
