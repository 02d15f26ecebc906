// What a move is given, and both of its sides.
import type { Container, Database } from '@azure/cosmos';
import type { Clock } from '../../base/clock.ts';
import type { Pipeline } from '../../pipeline/specs.ts';
import { sharedError } from '../../base/shared-errors.ts';
import type { ShardLocation, ShardMap } from '../../shards/index.ts';
import type { MoveTimes, Moving } from './moving.ts';
import type { BatchOf, MoveDocument } from './record.ts';
import { type MovePlace, stateOf } from './side.ts';

export interface MoveOptions extends Partial<MoveTimes> {
  readonly map: ShardMap;
  /** The container of the maps, which holds the records of moves too. */
  readonly maps: Container;
  readonly connect: (location: ShardLocation) => Database;
  /** The account of a location. */
  readonly endpointOf: (location: ShardLocation) => string;
  /** Name of the state container that hosts of a shard use in its database. */
  readonly stateContainer: string;
  /** The erasures of tenants that have not ended, by their ids. No move begins beside one (ERASE-P61). */
  readonly erasures?: () => Promise<readonly string[]>;
  /** Who recovers a place of a pipeline now. No move begins beside that (SPREAD-H17). */
  readonly recoveries?: () => Promise<readonly string[]>;
  /** The lease container of these hosts. */
  readonly leases?: Container | undefined;
  /** Containers whose documents the pipeline archives, if there is one here. */
  readonly archives?: readonly string[];
  /** The blobs of archives. Absent: keys with archived documents are refused. */
  readonly store?: Moving['store'];
  readonly signal: AbortSignal;
  readonly clock?: Clock;
  /** Goes on with a move though its process has stored progress lately. */
  readonly takeOver?: boolean;
  /** The range of which the mapping is a batch. */
  readonly range?: BatchOf;
  /** Called when the map gives the keys to the target. */
  readonly switched?: () => void;
  /** Called with each step that begins, and while it waits. */
  readonly say?: (text: string) => void | Promise<void>;
}

/** What a pipeline does in containers that move. */
export const touchedBy = ({ archives }: Pipeline): Pick<MoveOptions, 'archives'> => ({
  archives: archives.map(({ from }) => from.container),
});

/** Both shards of a move. */
export interface MovePlaces {
  readonly from: MovePlace;
  readonly to: MovePlace;
}

export async function movePlacesOf(
  { map, connect, endpointOf, stateContainer }: MoveOptions,
  { from, to }: Pick<MoveDocument, 'from' | 'to'>,
): Promise<MovePlaces> {
  const shards = await map.shards();
  const placeOf = async (id: string): Promise<MovePlace> => {
    const shard = shards.find((one) => one.id === id);
    if (!shard) throw sharedError('not-found', `The map ${map.name} has no shard ${id} any more`);
    const database = connect(shard.location);
    return {
      shard,
      database,
      endpoint: endpointOf(shard.location),
      state: await stateOf(database, stateContainer),
    };
  };
  const [left, right] = await Promise.all([placeOf(from), placeOf(to)]);
  return { from: left, to: right };
}
