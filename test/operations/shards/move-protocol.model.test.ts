// Random histories of keys that are moved there and back, and cancelled, while applications write them: routers sleep between
// their check and their write and are silent, movers die between any two steps and another one resumes, hosts read pages
// twice and begin new tenures. The world is a model of its own (move-protocol.ts). MOVE-V1 to MOVE-V9.
import { expect, it } from 'vitest';
import { suiteSeed } from '../../support/seed.ts';
import { cancel } from './move-clearing.ts';
import { restore, sweep } from './move-cold.ts';
import { judge } from './move-judge.ts';
import { MOVE_MISTAKES, type MoveMistake, RARE_MISTAKES } from './move-mistakes.ts';
import { MoveWorld } from './move-protocol.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 300);
/** So many histories find a mistake at the latest. */
const TRIED = Number(process.env['MILLRACE_VARIANT_HISTORIES'] ?? 10_000);
const COUNTS = process.env['MILLRACE_VARIANT_HISTORIES'] !== undefined;
type Steps = Generator<void, void, undefined>;
interface Work {
  steps: Steps;
  readonly again: () => Steps;
  readonly isCancelled: () => boolean;
  sleepsUntil: number;
}
const totals = new Map<string, number>();

function run(seed: number, mistake?: MoveMistake): string[] {
  const world = new MoveWorld(seed, mistake);
  const { random } = world;
  const ends = 900 + random.int(600);
  const works: Work[] = [];
  const keepers: Pick<Work, 'steps' | 'sleepsUntil'>[] = [];
  for (let at = 0; at < 8_000; at++) {
    world.disturb(at < ends);
    world.look();
    if (world.said.length > 0) break;
    if (at > ends + 1_000) world.calm = true;
    if (at < ends && random.chance(0.12)) {
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
    if (at > ends && works.length === 0 && keepers.length === 0) break;
  }
  if (world.said.length === 0) {
    if (works.length > 0) world.said.push('a move has no end');
    world.settle();
    judge(world);
  }
  for (const [name, total] of Object.entries(world.totals)) totals.set(name, (totals.get(name) ?? 0) + total);
  return world.said.map((said) => `${said} (MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1)`);
}

it(`keys that move are counted once, and lose no write, whoever dies (seed ${SEED})`, () => {
  const failures: string[] = [];
  for (let seed = SEED; seed < SEED + HISTORIES && failures.length < 10; seed++) failures.push(...run(seed));
  expect(failures).toEqual([]);
  if (HISTORIES < 100) return;
  expect([...totals].filter(([, total]) => total === 0)).toEqual([]);
});

it.each<MoveMistake>(COUNTS ? [...MOVE_MISTAKES, ...RARE_MISTAKES] : MOVE_MISTAKES)(
  `is seen to fail if %s (seed ${SEED})`,
  (mistake) => {
    let wrong = 0;
    for (let at = 0; at < TRIED; at++) {
      wrong += Number(run(SEED + at, mistake).length > 0);
      if (wrong > 0 && !COUNTS) return;
    }
    console.log(`${mistake}: ${wrong} of ${TRIED} histories are wrong`);
    expect(wrong).toBeGreaterThan(0);
  },
);
