// Random histories of keys that are moved there and back, and cancelled, while applications write them: routers sleep between
// their check and their write and are silent, movers die between any two steps and another one resumes, hosts read pages
// twice and begin new tenures. The world is a model of its own (move-protocol.ts). MOVE-V1 to MOVE-V9.
import { expect, it } from 'vitest';
import { suiteSeed } from '../../support/seed.ts';
import { runHistory } from './move-history.ts';
import { MOVE_MISTAKES, type MoveMistake, RARE_MISTAKES } from './move-mistakes.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 300);
/** So many histories find a mistake at the latest. */
const TRIED = Number(process.env['MILLRACE_VARIANT_HISTORIES'] ?? 10_000);
const COUNTS = process.env['MILLRACE_VARIANT_HISTORIES'] !== undefined;
const totals = new Map<string, number>();
const run = (seed: number, mistake?: MoveMistake): string[] => runHistory(seed, { mistake, totals });

it(`keys that move are counted once, and lose no write, whoever dies (seed ${SEED})`, () => {
  const failures: string[] = [];
  for (let seed = SEED; seed < SEED + HISTORIES && failures.length < 10; seed++) failures.push(...run(seed));
  expect(failures).toEqual([]);
  if (HISTORIES < 100) return;
  expect([...totals].filter(([name, total]) => total === 0 && name !== 'erased')).toEqual([]);
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
