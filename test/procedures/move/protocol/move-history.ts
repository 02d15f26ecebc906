// One random history of the world of move-protocol.ts: moves there and back that are cancelled and resumed, sweeps, restores, and
// erasures if they are asked for. What is random in a history without erasures doesn't depend on them.
import { cancel } from './move-clearing.ts';
import { restore, sweep } from './move-cold.ts';
import { erase } from './move-erasing.ts';
import { judge } from './move-judge.ts';
import type { MoveMistake } from './move-mistakes.ts';
import { KEYS, MoveWorld } from './move-protocol.ts';

type Steps = Generator<void, void, undefined>;
interface Work {
  steps: Steps;
  readonly again: () => Steps;
  readonly isCancelled: () => boolean;
  sleepsUntil: number;
}

export interface HistoryOptions {
  readonly mistake?: MoveMistake | undefined;
  /** Whether tenants are erased. */
  readonly erases?: boolean;
  /** Whether the application deletes documents without a trace. Nothing is archived then. */
  readonly deletes?: boolean;
  /** Adds up what happened. */
  readonly totals?: Map<string, number>;
}

/** What was wrong in the history of a seed. */
export function runHistory(
  seed: number,
  { mistake, erases = false, deletes = false, totals }: HistoryOptions = {},
): string[] {
  const world = new MoveWorld(seed, mistake, { withDeletions: deletes });
  const { random } = world;
  const ends = 900 + random.int(600);
  const works: Work[] = [];
  const leaving = erases ? [...KEYS].slice(0, random.pick([1, 1, 2])) : [];
  let erasing: { steps: Steps; readonly key: string } | undefined;
  const keepers: Pick<Work, 'steps' | 'sleepsUntil'>[] = [];
  for (let at = 0; at < 8_000; at++) {
    world.disturb(at < ends);
    world.look();
    if (world.said.length > 0) break;
    if (at > ends + 1_000) world.calm = true;
    if (at < ends && !deletes && random.chance(0.12)) {
      const shard = random.pick(world.shards);
      const steps = random.chance(0.15) ? restore(world, shard) : sweep(world, shard);
      keepers.push({ steps, sleepsUntil: 0 });
    }
    for (const [index, keeper] of keepers.entries()) {
      if (random.chance(0.5) || world.now < keeper.sleepsUntil) continue;
      if (random.chance(0.05)) keeper.sleepsUntil = world.now + random.int(250);
      // One that dies leaves what it has recorded.
      if (random.chance(0.03) || keeper.steps.next().done) keepers.splice(index, 1);
    }
    if (at < ends - 300 && works.length < 2 && random.chance(0.03)) {
      const move = world.begin(random.pick(['T', 'U']));
      const cancels = random.chance(0.3) ? world.now + random.int(150) : Infinity;
      const isCancelled = (): boolean => move?.step === 'copying' && world.now > cancels;
      const again = (): Steps => (isCancelled() ? cancel(world, move!) : world.mover(move!));
      if (move) works.push({ steps: again(), again, isCancelled, sleepsUntil: 0 });
    }
    for (const [index, work] of works.entries()) {
      if (random.chance(0.4) || world.now < work.sleepsUntil) continue;
      if (random.chance(0.006) && !world.calm) work.sleepsUntil = world.now + random.int(250);
      // It dies: what it knew is lost, and another one resumes from the record.
      if (random.chance(work.isCancelled() ? 0.1 : 0.01)) {
        world.totals.deaths += 1;
        work.steps = work.again();
      } else if (work.steps.next().done) works.splice(index, 1);
    }
    if (leaving[0] && !erasing && at > 200 && (at > ends || random.chance(0.005))) {
      const key = leaving.shift()!;
      erasing = { key, steps: erase(world, key) };
    }
    if (erasing && random.chance(0.8)) {
      // It dies, and another process goes on.
      if (!world.calm && random.chance(0.003)) erasing.steps = erase(world, erasing.key);
      else if (erasing.steps.next().done) erasing = undefined;
    }
    if (at > ends && works.length === 0 && keepers.length === 0 && leaving.length === 0 && !erasing) break;
  }
  if (world.said.length === 0) {
    if (works.length > 0) world.said.push('a move has no end');
    if (erasing) world.said.push('an erasure has no end');
    world.settle();
    judge(world);
  }
  for (const [name, total] of Object.entries(world.totals)) totals?.set(name, (totals.get(name) ?? 0) + total);
  return world.said.map((said) => `${said} (MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1)`);
}

/** What never happened in so many histories, although it should: few of them may lack what is rare. */
export function neverSeen(totals: ReadonlyMap<string, number>, histories: number): string[] {
  // One history in 35 heals a shard.
  const wanted = (name: string): boolean => histories >= (name === 'healed' ? 1_000 : 100);
  return [...totals].filter(([name, total]) => total === 0 && wanted(name)).map(([name]) => name);
}
