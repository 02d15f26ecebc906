import type { Container, Database } from '@azure/cosmos';
import { systemClock } from '../../base/clock.ts';
import { suggestion } from '../../base/near.ts';
import { requireShardMaps } from '../../base/settings.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { type Inspection, type ShardLocation, ShardMapManager, type ShardMap } from '../../shards/index.ts';
import { noStore } from '../../shards/map/access-denied.ts';
import { MAP_CONTAINER } from '../../shards/map/documents.ts';
import type { Context } from '../context.ts';
import { type LeftMove, bringBack, leftMoves } from '../move/heal.ts';
import { movesOf } from '../move/record.ts';

type Opening = Pick<Context, 'workspace'>;

/** The database of the shard maps, and the databases of shards. */
export interface MapPlaces {
  readonly database: Database;
  /** The container of the maps and their moves. */
  readonly maps: Container;
  readonly connect: (location: ShardLocation) => Database;
}

/** A location without an endpoint is in the account of the maps. @throws UsageError `setting-missing` */
export async function openPlaces({ workspace }: Opening): Promise<MapPlaces> {
  const maps = requireShardMaps(workspace.settings());
  const { places } = await workspace.services();
  const connect = ({ database, endpoint = maps.endpoint }: ShardLocation): Database =>
    places.connect({ database, endpoint }, { purpose: 'administration' });
  const database = connect(maps);
  return { database, maps: database.container(MAP_CONTAINER), connect };
}

/** The moves of a map whose processes have died. Changes nothing. */
export async function leftIn(context: Context, map: ShardMap, now: Inspection): Promise<readonly LeftMove[]> {
  const { maps } = await openPlaces(context);
  const { signal, clock = systemClock } = context;
  return leftMoves(await movesOf(maps, map.name, signal), now, clock.now());
}

/**
 * Before a verb changes a map: keys that a mover left offline when it died are brought online where they were. The screen
 * says so.
 */
export async function healMap(context: Context, map: ShardMap): Promise<readonly string[]> {
  const { maps } = await openPlaces(context);
  const { signal, clock, screen } = context;
  const healed = await bringBack({ map, maps, signal, clock });
  for (const { id, keys } of healed)
    screen.line(`The process of the move ${id} has died while ${keys} was offline. It is online again where it was.`);
  return healed.map(({ keys }) => keys);
}

/** @throws UsageError `setting-missing`; MillraceError `not-found` */
export async function openManager(context: Opening): Promise<ShardMapManager> {
  const places = await openPlaces(context);
  const manager = await ShardMapManager.tryGet({ ...places, brief: true });
  if (manager) return manager;
  throw await noStore(places.database, 'Check `SHARD_MAPS_DATABASE`, or create the store with `millrace shards init`.');
}

export const openMap = async (context: Opening, name: string): Promise<ShardMap> =>
  mapNamed(await openManager(context), name);

/** @throws MillraceError `not-found` */
export async function mapNamed(manager: ShardMapManager, name: string): Promise<ShardMap> {
  const map = await manager.tryGetMap(name);
  if (map) return map;
  const known = (await manager.maps()).map((one) => one.name);
  throw sharedError('not-found', `There is no shard map ${name}${suggestion(name, known)}`, {
    hint:
      known.length === 0
        ? 'There is none yet: create it with `millrace shards map create`.'
        : `The maps are: ${known.join(', ')}. \`millrace shards list\` shows their shards.`,
  });
}
