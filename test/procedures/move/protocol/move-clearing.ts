// How a move in the world of move-protocol.ts ends: the source is cleared, or the target of one that is cancelled.
import { dropEntries, markCold } from './move-cold.ts';
import { dropLetters } from './move-letters.ts';
import type { MoveWorld } from './move-protocol.ts';
import type { Move } from './move-shards.ts';

type Steps = Generator<void, void, undefined>;

export function* clear(world: MoveWorld, move: Move): Steps {
  const { from, to, key } = move;
  while (!world.is('the clean-up waits for no host') && !world.hasAcknowledged(to, to.lsn, key)) yield;
  for (const doc of from.since(0, key)) {
    if (world.parked.has(doc.id) || doc.mark?.gone || world.owner.get(key) === from) continue;
    if (world.is('the source is deleted at the clean-up')) from.docs.delete(doc.id);
    else {
      const of = world.is('a marker has the epoch in which it is read') ? undefined : { epoch: move.epoch };
      from.put({ id: doc.id, key, n: doc.n, mark: { gone: true, ...(of && { of }) } });
    }
    if (world.random.chance(0.3)) yield;
  }
  if (world.owner.get(key) !== from) yield* markCold(world, from, key, () => ({ epoch: move.epoch }));
  while (!world.hasAcknowledged(from, from.lsn, key)) yield;
  dropEntries(world, from, key);
  dropLetters(world, from, key);
  yield;
  // In the target too: of documents that were deleted in the source after they had been copied.
  for (const shard of [from, to]) for (const doc of shard.since(0, key)) if (doc.mark?.gone) shard.docs.delete(doc.id);
  move.step = 'done';
  yield;
}

/** Ends a move before its switch. The copies become markers just above what they are copies of. */
export function* cancel(world: MoveWorld, move: Move): Steps {
  const { from, to, key } = move;
  from.held.delete(key);
  world.owner.set(key, from);
  world.offline.delete(key);
  // The record may be behind what was copied.
  move.copied = from.lsn;
  yield;
  for (const doc of to.since(0, key)) {
    if (!doc.mark || doc.mark.gone) continue;
    const { version: { epoch, lsn } = { epoch: to.epoch, lsn: doc.lsn } } = doc.mark;
    const of = world.is('a cancelled copy is removed as of the target') ? {} : { of: { epoch, lsn: lsn + 0.5 } };
    to.put({ id: doc.id, key, n: doc.n, mark: { gone: true, ...of } });
    if (world.random.chance(0.3)) yield;
  }
  yield* markCold(world, to, key, ({ version: { epoch, lsn } }) => ({ epoch, lsn: lsn + 0.5 }));
  while (!world.hasAcknowledged(to, to.lsn, key)) yield;
  dropEntries(world, to, key);
  dropLetters(world, to, key);
  yield;
  for (const doc of to.since(0, key)) if (doc.mark?.gone) to.docs.delete(doc.id);
  world.totals.cancelled += 1;
  move.step = 'cancelled';
  yield;
}
