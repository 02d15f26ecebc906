import type { CosmosClient, Database } from '@azure/cosmos';
import { suggestion } from '../../base/near.ts';
import { requireShardMaps } from '../../base/settings.ts';
import { openAccount } from '../../runtime/services.ts';
import { shardsError } from '../../shards/errors.ts';
import { type ShardLocation, ShardMapManager, type ShardMap } from '../../shards/index.ts';
import type { Context } from '../operation.ts';
import { shardVerbsError } from './errors.ts';

type Opening = Pick<Context, 'workspace'>;

/** The database of the shard maps, and the databases of shards. */
export interface MapPlaces {
  readonly database: Database;
  readonly connect: (location: ShardLocation) => Database;
}

export async function withPlaces<R>({ workspace }: Opening, work: (places: MapPlaces) => Promise<R>): Promise<R> {
  const settings = workspace.settings();
  const { account, database } = requireShardMaps(settings);
  const apart = account.endpoint !== settings.cosmos.endpoint;
  const client: CosmosClient = apart
    ? await openAccount(account, settings, { setting: 'SHARD_MAPS' })
    : (await workspace.services()).cosmos;
  const connect = ({ database: name, endpoint }: ShardLocation): Database => {
    if (endpoint === undefined || addressOf(endpoint) === addressOf(account.endpoint)) return client.database(name);
    throw shardVerbsError('shard-account-unknown', `The shard ${name} is in the account ${endpoint}`);
  };
  try {
    return await work({ database: client.database(database), connect });
  } finally {
    if (apart) client.dispose();
  }
}

const addressOf = (endpoint: string): string => new URL(endpoint).host;

/** @throws UsageError `setting-missing`; MillraceError `shard-map-store-missing` */
export const withManager = <R>(context: Opening, work: (manager: ShardMapManager) => Promise<R>): Promise<R> =>
  withPlaces(context, async (places) => {
    const manager = await ShardMapManager.tryGet(places);
    if (manager) return work(manager);
    throw shardsError('shard-map-store-missing', `Database ${places.database.id} has no store of shard maps`, {
      hint: 'Check `SHARD_MAPS_DATABASE`, or create the store with `millrace shards init`.',
    });
  });

/** @throws MillraceError `shard-map-missing` */
export async function mapNamed(manager: ShardMapManager, name: string): Promise<ShardMap> {
  const map = await manager.tryGetMap(name);
  if (map) return map;
  const known = (await manager.maps()).map((one) => one.name);
  throw shardsError('shard-map-missing', `There is no shard map ${name}${suggestion(name, known)}`, {
    hint: 'Run `millrace shards list`, or create the map with `millrace shards create-map`.',
  });
}
