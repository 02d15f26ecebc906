// Moves in processes of their own, killed by SIGKILL at random requests, under sustained writes.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { movesOf } from '../../../src/operations/shards/moving/record.ts';
import { startProxy } from '../../support/proxy.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { MoveStage, TenantWriters } from './move-stage.ts';

const SEED = suiteSeed();
const KILLS = Number(process.env['MILLRACE_HISTORIES'] ?? 4);
const { signal } = new AbortController();

it(`a tenant whose movers are killed at random requests loses no write (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  await using stage = await MoveStage.open(SEED);
  const writers = new TenantWriters(stage);
  await writers.start({ tenants: [1, 2] });
  await writers.more(100);
  let [kills, moves, longest] = [0, 0, 60];
  // The last process ends well.
  for (let isOver = false; !isOver;) {
    const to = moves % 2 === 0 ? 'east' : 'west';
    const dies = kills < KILLS && random.chance(0.7);
    const { killed, pieces } = await run(stage, to, dies ? 1 + random.int(longest) : Infinity);
    isOver = !killed && kills >= KILLS;
    if (killed) kills += 1;
    else {
      moves += 1;
      longest = Math.max(longest, pieces);
    }
  }
  await writers.more(50);
  await writers.stop();
  const records = await movesOf(stage.database('maps').container('shardmaps'), 'tenants', signal);
  console.log(
    `${kills} movers killed in ${moves} moves, ${writers.count} writes, ` +
      `the longest wait of a write was ${Math.round(writers.longestMs)} ms`,
  );
  expect(records.map(({ step, parked }) => [step, parked])).toEqual(records.map(() => ['done', []]));
  const [now, before] = moves % 2 === 0 ? [stage.west, stage.east] : [stage.east, stage.west];
  expect(await stage.stored(now, 1)).toEqual(writers.expected(1));
  expect(await stage.everything(before, 1)).toEqual([]);
  expect(await stage.stored(stage.west, 2)).toEqual(writers.expected(2));
}, 600_000);

async function run(stage: MoveStage, to: string, after: number): Promise<{ killed: boolean; pieces: number }> {
  let pieces = 0;
  let counting = false;
  await using proxy = await startProxy(Number(new URL(stage.emulator.endpoint).port), () => {
    if (!counting) return true;
    pieces += 1;
    if (pieces > after) child.kill('SIGKILL');
    return pieces <= after;
  });
  const child = fork(
    join(import.meta.dirname, 'move-worker.ts'),
    [`http://127.0.0.1:${proxy.port}/`, stage.emulator.key, to],
    {
      execArgv: ['--conditions=millrace-source'],
    },
  );
  const exit = once(child, 'exit') as Promise<[code: number | null, signal: NodeJS.Signals | null]>;
  await Promise.race([once(child, 'message'), exit]);
  counting = true;
  child.send('go', () => undefined);
  const [code, by] = await exit;
  if (by === 'SIGKILL' && pieces > after) return { killed: true, pieces };
  if (code !== 0) throw new Error(`The move ended with ${String(code ?? by)} after ${pieces} pieces`);
  return { killed: false, pieces };
}
