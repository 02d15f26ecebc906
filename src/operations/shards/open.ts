import type { Database } from '@azure/cosmos';
import { suggestion } from '../../base/near.ts';
import { requireShardMaps } from '../../base/settings.ts';
import { shardsError } from '../../shards/errors.ts';
import { type ShardLocation, ShardMapManager, type ShardMap } from '../../shards/index.ts';
import type { Context } from '../operation.ts';

type Opening = Pick<Context, 'workspace'>;

/** The database of the shard maps, and the databases of shards. */
export interface MapPlaces {
  readonly database: Database;
  readonly connect: (location: ShardLocation) => Database;
}

/** A location without an endpoint is in the account of the maps. @throws UsageError `setting-missing` */
export async function openPlaces({ workspace }: Opening): Promise<MapPlaces> {
  const maps = requireShardMaps(workspace.settings());
  const { places } = await workspace.services();
  const connect = ({ database, endpoint = maps.endpoint }: ShardLocation): Database =>
    places.connect({ database, endpoint }, { purpose: 'administration' });
  return { database: connect(maps), connect };
}

/** @throws UsageError `setting-missing`; MillraceError `shard-map-store-missing` */
export async function openManager(context: Opening): Promise<ShardMapManager> {
  const places = await openPlaces(context);
  const manager = await ShardMapManager.tryGet(places);
  if (manager) return manager;
  throw shardsError('shard-map-store-missing', `Database ${places.database.id} has no store of shard maps`, {
    hint: 'Check `SHARD_MAPS_DATABASE`, or create the store with `millrace shards init`.',
  });
}

/** @throws MillraceError `shard-map-missing` */
export async function mapNamed(manager: ShardMapManager, name: string): Promise<ShardMap> {
  const map = await manager.tryGetMap(name);
  if (map) return map;
  const known = (await manager.maps()).map((one) => one.name);
  throw shardsError('shard-map-missing', `There is no shard map ${name}${suggestion(name, known)}`, {
    hint: 'Run `millrace shards list`, or create the map with `millrace shards create-map`.',
  });
}
