// Reads that are older than a write, in the world of move-protocol.ts (ASM-A3), and the comparison of both sides.
import { isThere } from './move-deleting.ts';
import type { MoveWorld } from './move-protocol.ts';
import type { Move, Shard } from './move-shards.ts';

type Steps = Generator<void, void, undefined>;

/** No read is older than this. */
export const LAG = 25;
/** A page that was read longer ago isn't applied. */
export const PAGE = 120;
/** A sweep writes nothing more after this. */
export const SWEEP = 200;

/** When what a read shows was there. */
export const seenAt = ({ random, now }: MoveWorld): number => now - random.int(LAG + 1);

/** Whether a sweep sees that a move has locked the key of a document. */
export function seesLock(world: MoveWorld, key: string): boolean {
  const at = seenAt(world);
  return world.moves.some(
    (one) => one.key === key && one.lockedAt <= at && one.step !== 'done' && one.step !== 'cancelled',
  );
}

/** What was begun before the lock has ended, or can write no more. */
export function* untilSwept(world: MoveWorld, { from, lockedAt }: Move): Steps {
  if (world.is('sweeps are not waited for')) return;
  // A sweep that isn't recorded in a read from now on has looked at the map when each replica showed the lock.
  const waits = world.is('records of sweeps are read at once') ? 0 : 2 * LAG;
  while (world.now <= lockedAt + waits) yield;
  const at = seenAt(world);
  const under = [...from.sweeps].filter(({ since }) => since <= at);
  while (under.some((one) => from.sweeps.has(one) && world.now <= one.until)) yield;
}

/** Takes from the target what the source no longer has: its feed shows no deletions. */
export function* compareSides(world: MoveWorld, { from, to, key }: Move): Steps {
  const there = idsOf(from, key);
  const extra = to.since(0, key).filter(({ id, mark }) => !there.has(id) && mark?.version && !mark.gone);
  yield;
  for (const doc of extra) {
    const { version, cold } = doc.mark!;
    const isGone = !from.docs.has(doc.id) && to.docs.get(doc.id)?.lsn === doc.lsn;
    if (!isGone || cold !== undefined) continue;
    const of = { epoch: version!.epoch, lsn: version!.lsn + 0.5 };
    to.put({ id: doc.id, key, n: doc.n, mark: { gone: true, of } });
    if (world.random.chance(0.3)) yield;
  }
}

/** Nothing is written: where both sides have as many documents, they have the same ones. */
export function* compareCounts(world: MoveWorld, move: Move): Steps {
  const { from, to, key } = move;
  const countOf = (shard: Shard): number => shard.since(0, key).filter(isThere).length;
  const count = countOf(from);
  yield;
  if (count !== countOf(to)) yield* compareSides(world, move);
}

const idsOf = (shard: Shard, key: string): Set<string> => new Set(shard.since(0, key).map(({ id }) => id));
