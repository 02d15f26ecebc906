// The hosts in the world of move-protocol.ts: they read pages of their shard's feed into a sink of the shard and one of all.
import { drain, defers } from './move-deferring.ts';
import { annul } from './move-cold.ts';
import { seesErasure } from './move-erasing.ts';
import { PAGE } from './move-lag.ts';
import { react } from './move-letters.ts';
import type { MoveWorld } from './move-protocol.ts';
import { type Change, type Move, type Shard, shows } from './move-shards.ts';

/** A host of a shard reads, applies, acknowledges, dies or begins a new tenure. */
export function host(world: MoveWorld, shard: Shard): void {
  const { random } = world;
  if (random.chance(0.3)) drain(world, shard);
  if (random.chance(0.03)) {
    shard.page = undefined;
    shard.known = shard.epoch;
  }
  if (!shard.page) {
    const docs = shard.since(shard.position).slice(0, 1 + random.int(3));
    if (docs.length === 0) {
      // What came last was deleted: the feed shows nothing more, and ends there.
      shard.position = Math.max(shard.position, shard.lsn);
      return;
    }
    shard.page = {
      changes: docs.map((doc) => shard.changeOf(doc, shard.known)),
      to: docs.at(-1)!.lsn,
      readAt: world.now,
    };
    return;
  }
  if (isTooOld(world, shard)) {
    shard.page = undefined;
    return;
  }
  for (const change of shard.page.changes)
    if (!seesErasure(world, change.key) && !defers(world, shard, change)) apply(world, shard, change);
  // A page may be applied again before it is acknowledged.
  if (random.chance(0.2)) return;
  shard.position = Math.max(shard.position, shard.page.to);
  shard.page = undefined;
}

/** A page is applied within a bound, which an erasure waits for (PROC-L13). */
const isTooOld = (world: MoveWorld, { page }: Shard): boolean =>
  world.erasures.size > 0 && page !== undefined && world.now - page.readAt > PAGE;

export function apply(world: MoveWorld, shard: Shard, change: Change): void {
  shard.sink.apply(change);
  annul(world, shard, change);
  const skips = change.gone && !world.is('a deletion by a move reaches the global sink');
  const id = world.is('the shard is part of the identity') ? `${shard.name}/${change.id}` : change.id;
  if (!skips) {
    const before = world.global.guards.get(id);
    world.global.apply({ ...change, id });
    const after = world.global.guards.get(id)!;
    const isBack = before?.counts === true && (after.counts ? after.n < before.n : change.n < before.n);
    // A late write that was named stays in the source, and a rewind of the source shows it again.
    const isNamed = [world.late, world.parked, world.changedBack].some((ids) => ids.has(change.id));
    if (isBack && !isNamed) world.said.push(`the global sink went back with ${id}`);
  }
  react(world, shard, change);
}

/** New tenures of a shard: they have read its epoch. */
export function renewTenures(shard: Shard): void {
  shard.page = undefined;
  shard.known = shard.epoch;
}

/** What the target's hosts have acknowledged before the switch is in its sink. */
export function hasDerived(world: MoveWorld, { to, key }: Move): void {
  if (world.erasures.has(key)) return;
  for (const doc of to.since(0, key))
    if (!doc.mark?.gone && !world.changedBack.has(doc.id) && !shows(to, doc))
      world.said.push(`${doc.id} was copied as ${doc.n}, and the sink of ${to.name} doesn't show it`);
}
