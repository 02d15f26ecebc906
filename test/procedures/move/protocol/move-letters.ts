// Dead letters in the world of move-protocol.ts: hosts park reactions that are refused, operators redrive them, and a mover takes
// them along. docs/SPEC-moves.md
import { assertNotRemoved, seesErasure } from './move-erasing.ts';
import type { MoveWorld } from './move-protocol.ts';
import { type Change, type Move, type Shard, type Version, isNewer } from './move-shards.ts';

type Steps = Generator<void, void, undefined>;

/** A reaction that is still to come. */
export interface Letter {
  readonly key: string;
  readonly n: number;
  readonly version: Version;
}

const nameOf = (id: string, n: number): string => `${id}@${n}`;

/** A host's reaction to a change. One that was refused stays refused until a redrive. */
export function react(world: MoveWorld, shard: Shard, change: Change): void {
  const { id, key, n, version, op, restored, moved } = change;
  const parked = shard.letters.get(id);
  const resolve = (): void => {
    if (parked && !isNewer(parked.version, version)) shard.letters.delete(id);
  };
  if (moved && !world.is('reactions take moves for events')) {
    if (world.is('a change by a move resolves the letter')) resolve();
    return;
  }
  if (op === 'delete' || restored) return resolve();
  const isSame = parked?.n === n;
  const isDone = world.effects.has(nameOf(id, n));
  if (isSame || (!isDone && !world.calm && world.random.chance(0.15))) {
    if (!parked || !isNewer(parked.version, version)) shard.letters.set(id, { key, n, version });
    world.totals.refused += 1;
    return;
  }
  resolve();
  happen(world, shard, id, n);
}

function happen(world: MoveWorld, shard: Shard, id: string, n: number): void {
  assertNotRemoved(world, id, 'had an effect');
  const on = world.effects.get(nameOf(id, n)) ?? new Set<string>();
  world.effects.set(nameOf(id, n), on.add(shard.name));
}

/** Reads the document of a letter again where the letter is. */
export function redrive(world: MoveWorld, shard: Shard, id: string): void {
  const { n } = shard.letters.get(id)!;
  shard.letters.delete(id);
  const doc = shard.docs.get(id);
  if (!doc || doc.removed || doc.mark?.gone || doc.mark?.restored) return;
  if (doc.mark && world.is('a redrive takes a copy for a newer version')) return;
  if (!doc.mark && doc.n !== n) return;
  if (doc.n !== n && world.changedBack.has(id)) return;
  if (doc.n !== n)
    world.said.push(`a redrive of ${nameOf(id, n)} finds ${nameOf(id, doc.n)}, which only a move has written`);
  world.totals.redriven += 1;
  // Its key is that of the version, so a receiver knows a second one.
  if (!world.effects.has(nameOf(id, n))) happen(world, shard, id, n);
}

/** An operator redrives a letter that is there. */
export function redriveSome(world: MoveWorld): void {
  const shard = world.random.pick(world.shards);
  const [id] = shard.letters.keys();
  if (id !== undefined && !seesErasure(world, id.slice(0, 1))) redrive(world, shard, id);
}

/** The mover takes the letters of the key along: to the target first, so that one of both shards has each at every moment. */
export function* carryLetters(world: MoveWorld, { key, from, to }: Move): Steps {
  if (world.is('letters stay where they were')) return;
  for (const [id, letter] of from.letters) {
    if (letter.key !== key || world.parked.has(id)) continue;
    const there = to.docs.get(id);
    const isReplaced = there !== undefined && !there.mark;
    if (!isReplaced && !to.letters.has(id)) {
      to.letters.set(id, letter);
      world.totals.carried += 1;
    }
    yield;
    if (from.letters.get(id) === letter) from.letters.delete(id);
  }
}

/** What is left of a key's letters goes when the hosts know that its documents are elsewhere. */
export function dropLetters(world: MoveWorld, shard: Shard, key: string): void {
  for (const [id, letter] of shard.letters) if (letter.key === key && !world.parked.has(id)) shard.letters.delete(id);
}

/** No letter is where its key isn't. What is still parked is redriven. */
export function judgeLetters(world: MoveWorld): void {
  for (const shard of world.shards)
    for (const [id, { key }] of shard.letters) {
      if (world.owner.get(key) !== shard && !world.parked.has(id))
        world.said.push(`a letter of ${id} is left on ${shard.name}`);
      redrive(world, shard, id);
    }
}
