// What a mover that died has left, as others see it, and what they can do about it without continuing the move.
import type { Container, Database } from '@azure/cosmos';
import { type Clock, systemClock } from '../../base/clock.ts';
import { MillraceError } from '../../base/errors.ts';
import { epochHeldBy, letEpochGo } from '../../feed/reading/epochs.ts';
import type { Inspection, InspectedMapping, ShardLocation, ShardMap } from '../../shards/index.ts';
import { type MoveDocument, MoveRecord, heldBy, isSilent, isUnfinished, movesOf, ownerOf } from './record.ts';
import { stateOf } from './side.ts';

/** How old a read of the records may be, milliseconds (ASM-A3). */
const READ_LAG_MS = 5_000;

/** A move whose process has died. */
export interface LeftMove {
  readonly move: MoveDocument;
  /** Its mapping is offline: writes of the keys fail. */
  readonly offline: InspectedMapping | undefined;
}

/** The moves of a map whose processes have stored nothing for a while. */
export function leftMoves(moves: readonly MoveDocument[], { mappings }: Inspection, now: number): LeftMove[] {
  return moves
    .filter((move) => isUnfinished(move) && isSilent(move, now))
    .map((move) => ({
      move,
      offline: mappings.find(({ status, owner }) => status === 'offline' && owner === ownerOf(move)),
    }));
}

interface HealOptions {
  readonly map: ShardMap;
  /** The container of the maps, which holds the records of moves too. */
  readonly maps: Container;
  readonly signal: AbortSignal;
  readonly clock?: Clock | undefined;
}

/**
 * Brings keys online where they were, if the process that moved them has died while they were offline. The move stays as it
 * is: its command goes on with it, and it can be cancelled. A process that was only slow finds its mapping void, and stops.
 * Resolves with the moves whose keys it has brought online.
 */
export async function bringBack({ map, maps, signal, clock = systemClock }: HealOptions): Promise<MoveDocument[]> {
  const moves = await movesOf(maps, map.name, signal);
  if (!moves.some((move) => isUnfinished(move) && isSilent(move, clock.now()))) return [];
  await map.settle();
  const healed: MoveDocument[] = [];
  for (const { move, offline } of leftMoves(moves, await map.inspect(), clock.now())) {
    if (!offline || offline.shard !== move.from || !(await MoveRecord.abandon(maps, move, clock))) continue;
    try {
      await map.updateMapping(offline, { status: 'online' }, { owner: ownerOf(move) });
      const from = (await map.shards()).find(({ id }) => id === move.from);
      if (from) await map.letGo(from, move.id);
      healed.push(move);
    } catch (error) {
      // Another process was faster.
      if (!(error instanceof MillraceError && error.code === 'stale')) throw error;
    }
  }
  return healed;
}

/**
 * Lets epochs go that moves hold of which the maps know nothing, because their records were lost with a database. Resolves
 * with their number.
 */
export async function forgetHeld(
  { map, maps, signal, clock = systemClock }: HealOptions,
  connect: (location: ShardLocation) => Database,
  stateContainer: string,
): Promise<number> {
  const unknown = async (held: readonly string[]): Promise<string[]> => {
    const open = new Set((await movesOf(maps, map.name, signal)).filter(isUnfinished).map(heldBy));
    return held.filter((move) => move.startsWith(`${map.name}/`) && !open.has(move));
  };
  let forgotten = 0;
  for (const { location, detached } of await map.shards()) {
    const state = detached ? undefined : await stateOf(connect(location), stateContainer);
    for (const name of state ? Object.keys(map.schema.sharded) : []) {
      const suspects = await unknown(await epochHeldBy(state!, name));
      if (suspects.length === 0) continue;
      // A move stores its record before it holds an epoch, and a replica may not show that yet.
      await clock.sleep(READ_LAG_MS, signal);
      const over = new Set(await unknown(suspects));
      await letEpochGo(state!, name, (move) => over.has(move));
      forgotten += over.size;
    }
  }
  return forgotten;
}
