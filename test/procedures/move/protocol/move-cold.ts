// Archives in the world of move-protocol.ts: entries in each shard, sweeps, restores, and what a mover does with documents
// that only an entry knows. docs/SPEC-moves.md
import { assertNotRemoved, seesErasure } from './move-erasing.ts';
import { SWEEP, seesLock } from './move-lag.ts';
import type { MoveWorld } from './move-protocol.ts';
import { type Entry, type Move, type Shard, isNewer } from './move-shards.ts';

type Steps = Generator<void, void, undefined>;

/** A restore writes nothing more after this since its look at the map. */
const RESTORE = 60;

const archivedOf = (shard: Shard, key: string): [string, Entry][] =>
  [...shard.entries].filter(([id, { state }]) => state === 'archived' && id.startsWith(key));

/** Archives one document. It may sleep or die between any two steps. */
export function* sweep(world: MoveWorld, shard: Shard): Steps {
  const { random } = world;
  const due = [...shard.docs.values()].filter(
    ({ id, mark, lsn, removed, key }) =>
      !mark &&
      !removed &&
      !shard.page &&
      lsn <= shard.position &&
      !shard.letters.has(id) &&
      !shard.deferred.some((one) => one.key === key),
  );
  if (due.length === 0) return;
  const read = world.now;
  const doc = random.pick(due);
  const { version, etag } = shard.changeOf(doc, shard.known);
  yield;
  // It records that it writes before it looks at the map, so that the mover waits for it, or it sees the lock.
  const record = { since: world.now, until: world.now + SWEEP };
  shard.sweeps.add(record);
  const isFresh = (): boolean => world.now - read < SWEEP;
  const isErased = seesErasure(world, doc.key) && !world.is('a sweep looks at no erasure');
  const isLocked = isErased || seesLock(world, doc.key);
  const isElsewhere = world.owner.get(doc.key) !== shard && !world.is('a sweep takes documents of keys that left');
  if (!isLocked && !isElsewhere) {
    yield;
    if (isFresh()) {
      const known = shard.entries.get(doc.id);
      const isOld = known !== undefined && isNewer(known.version, version);
      if (!isOld) {
        shard.entries.set(doc.id, { state: 'archived', version, etag, n: doc.n, line: etag });
        assertNotRemoved(world, doc.id, 'was archived');
        world.totals.archived += 1;
        yield;
      }
      if (!isOld && isFresh() && shard.docs.get(doc.id)?.lsn === doc.lsn) shard.docs.delete(doc.id);
    }
  }
  shard.sweeps.delete(record);
}

/** Writes an archived document back where the map has its key, perhaps long after the look at the map. */
export function* restore(world: MoveWorld, shard: Shard): Steps {
  const { random } = world;
  const cold = [...shard.entries].filter(([id, { state }]) => state === 'archived' && !shard.docs.has(id));
  if (cold.length === 0) return;
  const [id] = random.pick(cold);
  const key = id.slice(0, 1);
  if (world.owner.get(key) !== shard) return;
  const looked = world.now;
  yield;
  // Later than the grace it isn't followed, as a router's write.
  if (world.now - looked > RESTORE) return;
  const entry = shard.entries.get(id);
  if (entry?.state !== 'archived' || shard.docs.has(id) || seesErasure(world, key)) return;
  shard.put({ id, key, n: entry.n, mark: { restored: true } });
  assertNotRemoved(world, id, 'was restored');
  world.totals.restored += 1;
  if (world.owner.get(key) !== shard && world.owner.get(key)) world.lateAt(id, entry.n);
}

/** The live half of an archive: what is newer than an entry makes it void. */
export function annul(world: MoveWorld, shard: Shard, change: ReturnType<Shard['changeOf']>): void {
  const known = shard.entries.get(change.id);
  const { version, etag, n, id } = change;
  if (!known) {
    // A sweep that has read the version before it must not archive that.
    if (change.op === 'delete' && !change.moved) shard.entries.set(id, { state: 'void', version, etag, n, line: etag });
    return;
  }
  if (!isNewer(version, known.version)) return;
  // The same version, read in a later epoch: a page of before the removal.
  if (known.etag === etag && !world.is('a later epoch is a later version')) return;
  if (change.moved && world.is('a copy of a move leaves the entry')) return;
  shard.entries.set(id, { ...known, state: 'void', version, etag });
}

/** Cold documents pass the target's feed as copies, and leave it again once its hosts have them. */
export function* takeCold(world: MoveWorld, move: Move): Steps {
  const { from, to, key, epoch } = move;
  for (const [id, { n, line, version: archived }] of archivedOf(from, key)) {
    if (world.random.chance(0.2)) yield;
    if (from.docs.has(id)) continue;
    const known = to.entries.get(id);
    const there = to.docs.get(id);
    if (known?.state === 'archived' && known.line === line && !there) continue;
    // Above what a cancelled move has left in the target.
    if (from.lsn <= move.renews && !world.is('a cancelled move needs no later end of the feed')) from.lsn += 1;
    const version = world.is('a cold copy has the version that was archived') ? archived : { epoch, lsn: from.lsn };
    if (there?.mark?.version && !isNewer(version, there.mark.version)) continue;
    to.put({ id, key, n, mark: { version, cold: line } });
    world.totals.cold += 1;
  }
  yield;
  if (!world.is('a cold copy goes before its hosts had it')) while (!world.hasAcknowledged(to, to.lsn, key)) yield;
  for (const copy of to.since(0, key)) {
    const { version, cold: line } = copy.mark ?? {};
    if (!version || line === undefined) continue;
    const known = to.entries.get(copy.id);
    const { etag } = to.changeOf(copy, to.known);
    // The copy itself may have made an entry of before void in this version.
    if (!known || !isNewer(known.version, version))
      to.entries.set(copy.id, { state: 'archived', version, etag, n: copy.n, line });
    yield;
    if (to.docs.get(copy.id)?.lsn === copy.lsn) to.docs.delete(copy.id);
  }
  // It came back in the source meanwhile, and the hosts may have had the copy of that before the entry.
  for (const [id, entry] of archivedOf(to, key))
    if (to.docs.has(id) && to.docs.get(id)!.mark?.cold === undefined) to.entries.set(id, { ...entry, state: 'void' });
  yield;
}

/** Marks cold documents as gone in a shard, by `of` their entries. */
export function* markCold(
  world: MoveWorld,
  shard: Shard,
  key: string,
  of: (entry: Entry) => { readonly epoch: number; readonly lsn?: number },
): Steps {
  if (world.is('cold documents of a side get no marker')) return;
  for (const [id, entry] of archivedOf(shard, key)) {
    if (shard.docs.has(id)) continue;
    shard.put({ id, key, n: entry.n, mark: { gone: true, of: of(entry) } });
    if (world.random.chance(0.3)) yield;
  }
}

/** When the hosts have the markers. */
export function dropEntries(world: MoveWorld, shard: Shard, key: string): void {
  for (const [id] of archivedOf(shard, key)) if (shard.docs.get(id)?.mark?.gone) shard.entries.delete(id);
}
