// The copies of a move in the world of move-protocol.ts, and the epoch that they are read in.
import { renewTenures } from './move-hosting.ts';
import type { MoveWorld } from './move-protocol.ts';
import { type Move, type Stored, isCopy, isNewer } from './move-shards.ts';

export function* raiseEpoch(world: MoveWorld, move: Move): Generator<void, void, undefined> {
  const { from, to } = move;
  // What is read of a shard that lost keys must be read in the epoch of their move, stragglers included.
  if (to.epoch <= from.epoch) {
    const pending = world.moves.filter((one) => one !== move && one.from === to && one.step === 'switched');
    if (!world.is('an epoch is raised while a source is not acknowledged'))
      for (const one of pending) while (one.step === 'switched') yield;
    to.epoch = from.epoch + 1;
  }
  yield;
  if (!world.is('running tenures are not waited for')) {
    renewTenures(to);
    renewTenures(from);
  }
  move.epoch = from.epoch;
  yield;
}

/** One round over the source's feed. A copy that no application has rewritten gets a version of its own first. */
export function* copyRound(world: MoveWorld, move: Move): Generator<void, number, undefined> {
  const { from, key } = move;
  const page = from.since(move.copied, key).slice(0, 1 + world.random.int(3));
  for (const doc of page) {
    // It may be gone since the page was read, and is copied all the same.
    const now = from.docs.get(doc.id);
    if (now && now.lsn !== doc.lsn) continue;
    const renews =
      (doc.mark?.version !== undefined || doc.lsn <= move.renews) && !world.is('a copy is copied on as it is');
    if (doc.mark?.gone) continue;
    if (renews && !now) continue;
    if (renews) {
      world.totals.renewed += 1;
      from.put({ ...doc, mark: {} });
      continue;
    }
    write(world, move, doc);
    if (world.random.chance(0.2)) yield;
  }
  if (page.length > 0) move.copied = page.at(-1)!.lsn;
  yield;
  return page.length;
}

/** After the switch copies become versions of the target: one that was changed back is newer then than what came between. */
export function* renewCopies(world: MoveWorld, { to, key }: Move): Generator<void, void, undefined> {
  if (world.is('copies keep their version after the switch')) return;
  for (const doc of to.since(0, key)) {
    if (!isCopy(doc) || !doc.mark?.version || to.docs.get(doc.id)?.lsn !== doc.lsn) continue;
    to.put({ ...doc, mark: {} });
    if (world.random.chance(0.1)) yield;
  }
}

function write(world: MoveWorld, { to, epoch }: Move, { lsn, mark, ...doc }: Stored): void {
  const version = mark?.version ?? { epoch, lsn };
  const there = to.docs.get(doc.id);
  if (there?.mark?.version && !isNewer(version, there.mark.version)) return;
  to.put({ ...doc, mark: world.is('a copy has a version of its own') ? {} : { version } });
}
