// Keys that moved to another shard while shards were read, in turn, side by side or each by itself: their documents may have
// been in none of them when it was read.
import { CLOCK_SKEW_MS } from '../../base/bounds.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { openShardMap } from '../../runtime/places.ts';
import { shownLocation } from '../../shards/map/documents.ts';
import { shardHere } from '../archive/foreign-keys.ts';
import type { Context } from '../context.ts';
import { plural } from '../table.ts';
import { type MoveDocument, isSwitched } from '../move/record.ts';
import type { AskedTenant } from '../tenants/tenant-flag.ts';
import { movesOfTenant } from '../tenants/tenant-moves.ts';

export interface MovedKeys {
  /** The id of the move. */
  readonly move: string;
  readonly keys: string;
  /** The shard that has them now, for people. */
  readonly to: string;
}

const MOST_NAMED = 20;

/** Each move by name; `remedy` is the command that makes up for those to one shard. */
export function sayMoved(moved: readonly MovedKeys[], remedy: (to: string) => string): string[] {
  const others = moved.length - MOST_NAMED;
  return [
    ...moved
      .slice(0, MOST_NAMED)
      .map(
        ({ move, keys, to }) =>
          `  ${keys} moved to ${to} meanwhile (move ${move}): perhaps no shard had its documents when it was read. Run ${remedy(to)}.`,
      ),
    ...(others > 0 ? [`  … and ${plural(others, 'other move')}: \`millrace shards moves\`.`] : []),
  ];
}

/** Ids of moves, and of the shards that there were. */
interface Look {
  readonly switched: ReadonlySet<string>;
  readonly shards: ReadonlySet<string>;
}

const NONE = (): Promise<MovedKeys[]> => Promise.resolve([]);

/** Resolves with a function that names the moves which have given keys to another shard since, whatever the shard. */
export async function movedMeanwhile(parts: Parts, signal: AbortSignal): Promise<() => Promise<MovedKeys[]>> {
  const { switched } = await lookOf(parts, undefined, signal);
  return async () =>
    named(
      parts,
      (await switchedOf(parts, undefined, signal)).filter(({ id }) => !switched.has(id)),
    );
}

/**
 * The same for one place of a call that works in several, some at once: keys that have left its shard since the first
 * place began, unless the shard that has them is looked at after that. A job works in one place alone, and names what
 * has left since it was asked for.
 */
export async function leftMeanwhile(
  parts: Parts,
  asked: AskedTenant | undefined,
  { signal, between, askedAt }: Pick<Context, 'signal' | 'between' | 'askedAt'>,
): Promise<() => Promise<MovedKeys[]>> {
  const { pipeline } = parts.loaded;
  if (!pipeline.part) return NONE;
  const now = await lookOf(parts, asked, signal);
  const first = (between?.get(FIRST) as Look | undefined) ?? now;
  between?.set(FIRST, first);
  // It reads all shards at once, and compares what differs again.
  if (pipeline.part.place === 'global') return NONE;
  const own = await shardHere(await openShardMap(parts), parts);
  between?.set(`${FIRST} ${own}`, now);
  const since = askedAt === undefined ? Infinity : askedAt - CLOCK_SKEW_MS;
  const isSince = ({ id, switchedAt }: MoveDocument): boolean =>
    !first.switched.has(id) || (switchedAt !== undefined && Date.parse(switchedAt) >= since);
  const isSeen = ({ id, to }: MoveDocument): boolean => {
    if (!between) return false;
    const there = between.get(`${FIRST} ${to}`) as Look | undefined;
    // A shard that is known and has not had its turn comes later.
    return there ? there.switched.has(id) : first.shards.has(to);
  };
  return async () => {
    const all = await switchedOf(parts, asked, signal);
    return named(
      parts,
      all.filter((move) => move.from === own && isSince(move) && !isSeen(move)),
    );
  };
}

/** What a call keeps of its places: the look at its beginning, and with a shard's id that at the beginning of the shard. */
const FIRST = 'moves';

async function lookOf(parts: Parts, asked: AskedTenant | undefined, signal: AbortSignal): Promise<Look> {
  const map = await openShardMap(parts);
  // Before the moves: a shard that is added later has no look of its own.
  const shards = (await map.shards()).filter(({ detached }) => !detached);
  const switched = await switchedOf(parts, asked, signal);
  return { shards: new Set(shards.map(({ id }) => id)), switched: new Set(switched.map(({ id }) => id)) };
}

const switchedOf = async (parts: Parts, asked: AskedTenant | undefined, signal: AbortSignal): Promise<MoveDocument[]> =>
  (await movesOfTenant(parts, asked, signal)).filter(isSwitched);

async function named(parts: Parts, moves: readonly MoveDocument[]): Promise<MovedKeys[]> {
  if (moves.length === 0) return [];
  const shards = await (await openShardMap(parts)).shards();
  const whereOf = (id: string): string => {
    const shard = shards.find((one) => one.id === id);
    return shard ? shownLocation(shard.location) : id;
  };
  return moves.map(({ id, keys, to }) => ({ move: id, keys, to: whereOf(to) }));
}
