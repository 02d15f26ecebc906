// What must hold of a world of move-protocol.ts in the end.
import { KEYS, type MoveWorld, REOPEN } from './move-protocol.ts';
import type { Sink } from './move-shards.ts';

/** All that is wrong. */
export function judge(world: MoveWorld): string[] {
  const { said, truth, owner, parked, effects, global, shards, longestHeld, stragglers } = world;
  for (const [id, n] of truth) {
    const at = owner.get(id.slice(0, 1))!;
    if (parked.has(id)) continue;
    const there = at.docs.get(id);
    if (there?.n !== n || there.mark?.gone) said.push(`${id} was acknowledged as ${n}, and ${at.name} has ${there?.n}`);
    if (!effects.has(`${id}@${n}`)) said.push(`${id}@${n} had no effect`);
    judgeSink(said, 'global', global, [id, n]);
    judgeSink(said, at.name, at.sink, [id, n]);
    const other = shards.find((one) => one !== at)!;
    if (other.sink.guards.get(id)?.counts) said.push(`${other.name} counts ${id}, which it has not`);
    if (other.docs.has(id)) said.push(`${id} is on both sides`);
  }
  for (const key of KEYS) {
    if (world.parkedOf(key)) continue;
    let want = 0;
    for (const [id, n] of truth) if (id.startsWith(key)) want += n;
    for (const [name, sink] of [
      ['global', global],
      [owner.get(key)!.name, owner.get(key)!.sink],
    ] as const)
      if ((sink.totals.get(key) ?? 0) !== want) said.push(`the total of ${key} in ${name} is wrong`);
  }
  for (const [write, on] of effects) if (on.size > 1) said.push(`${write} had effects on both shards`);
  if (longestHeld > REOPEN + 1) said.push(`writes waited for ${longestHeld}`);
  for (const [id] of stragglers) if (!parked.has(id)) said.push(`a straggler of ${id} was not named`);
  return said;
}

function judgeSink(said: string[], name: string, { guards }: Sink, [id, n]: readonly [string, number]): void {
  const found = guards.get(id);
  if (!found?.counts || found.n !== n) said.push(`the sink of ${name} has ${id} as ${found?.n}, not ${n}`);
}
