// What must hold of a world of move-protocol.ts in the end.
import { judgeErasures } from './move-erasing.ts';
import { judgeLetters } from './move-letters.ts';
import { KEYS, type MoveWorld, REOPEN } from './move-protocol.ts';
import type { Sink } from './move-shards.ts';

/** Adds all that is wrong to what the world has said. */
export function judge(world: MoveWorld): void {
  const { said, truth, owner, parked, effects, global, shards, longestHeld, stragglers } = world;
  judgeLetters(world);
  judgeErasures(world);
  for (const [id, n] of truth) {
    if (world.erasures.has(id.slice(0, 1))) continue;
    const at = owner.get(id.slice(0, 1))!;
    if (parked.has(id)) continue;
    const hot = at.docs.get(id);
    const entry = at.entries.get(id);
    const there = hot ?? (entry?.state === 'archived' ? entry : undefined);
    const isRemoved = world.removals.has(n);
    if (isRemoved ? there && (there.n !== n || !hot) : there?.n !== n || hot?.mark?.gone)
      said.push(`${id} was acknowledged as ${n}, and ${at.name} has ${there?.n}`);
    // A change back is no event: a gap of SPEC-moves.
    const isTraceless = world.deletions?.ever.has(id) === true;
    if (!isRemoved && !effects.has(`${id}@${n}`) && !world.changedBack.has(id) && !isTraceless)
      said.push(`${id}@${n} had no effect`);
    const want = isRemoved ? undefined : n;
    if (!isTraceless) judgeSink(said, 'global', global, [id, want]);
    if (!isTraceless) judgeSink(said, at.name, at.sink, [id, want]);
    const other = shards.find((one) => one !== at)!;
    if (other.sink.guards.get(id)?.counts && !isTraceless) said.push(`${other.name} counts ${id}, which it has not`);
    if (other.entries.get(id)?.state === 'archived') said.push(`${other.name} says that it has archived ${id}`);
    if (other.docs.has(id)) said.push(`${id} is on both sides`);
  }
  for (const key of KEYS) {
    if (world.parkedOf(key) || world.erasures.has(key)) continue;
    if ([...(world.deletions?.ever ?? [])].some((id) => id.startsWith(key))) continue;
    let want = 0;
    for (const [id, n] of truth) if (id.startsWith(key) && !world.removals.has(n)) want += n;
    for (const [name, sink] of [
      ['global', global],
      [owner.get(key)!.name, owner.get(key)!.sink],
    ] as const)
      if ((sink.totals.get(key) ?? 0) !== want) said.push(`the total of ${key} in ${name} is wrong`);
  }
  for (const id of world.deletions?.now ?? []) {
    if (parked.has(id) || world.late.has(id)) continue;
    for (const shard of shards) if (shard.docs.has(id)) said.push(`${id} was deleted, and ${shard.name} has it`);
  }
  for (const [write, on] of effects) if (on.size > 1) said.push(`${write} had effects on both shards`);
  if (longestHeld > REOPEN + 1) said.push(`writes waited for ${longestHeld}`);
  for (const [id] of stragglers)
    if (!parked.has(id) && !world.erasures.has(id.slice(0, 1))) said.push(`a straggler of ${id} was not named`);
}

function judgeSink(
  said: string[],
  name: string,
  { guards }: Sink,
  [id, n]: readonly [string, number | undefined],
): void {
  const found = guards.get(id);
  const has = found?.counts ? found.n : undefined;
  if (has !== n) said.push(`the sink of ${name} has ${id} as ${has}, not ${n}`);
}
