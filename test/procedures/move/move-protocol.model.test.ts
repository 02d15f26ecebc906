// Random histories of keys that are moved there and back, and cancelled, while applications write them: routers sleep between
// their check and their write and are silent, movers die between any two steps and another one resumes, hosts read pages
// twice and begin new tenures. The world is a model of its own (move-protocol.ts). MOVE-V1 to MOVE-V9, MOVE-V40.
import { expect, it } from 'vitest';
import { suiteSeed } from '../../support/seed.ts';
import { neverSeen, runHistory } from './protocol/move-history.ts';
import { DELETE_MISTAKES, isSeen, MOVE_MISTAKES, type MoveMistake } from './protocol/move-mistakes.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 120);
const totals = new Map<string, number>();

it(`keys that move are counted once, and lose no write, whichever process dies (seed ${SEED})`, () => {
  const failures: string[] = [];
  for (let seed = SEED; seed < SEED + HISTORIES && failures.length < 10; seed++)
    failures.push(...runHistory(seed, { totals }));
  expect(failures).toEqual([]);
  const others = ['erased', 'deleted'];
  expect(neverSeen(totals, HISTORIES).filter((name) => !others.includes(name))).toEqual([]);
});

it(`documents that are deleted without a trace don't come to life by a move (seed ${SEED})`, () => {
  const failures: string[] = [];
  for (let seed = SEED; seed < SEED + HISTORIES / 3 && failures.length < 10; seed++)
    failures.push(...runHistory(seed, { deletes: true }));
  expect(failures).toEqual([]);
});

it.each(Object.entries(MOVE_MISTAKES))('the model of moves is seen to fail if %s', (mistake, first) => {
  expect(isSeen(first, (seed) => runHistory(seed, { mistake: mistake as MoveMistake }))).toBe(true);
});

it.each(Object.entries(DELETE_MISTAKES))(
  'the model of moves is seen to bring documents to life if %s',
  (mistake, first) => {
    const wrong = (seed: number): string[] => runHistory(seed, { mistake: mistake as MoveMistake, deletes: true });
    expect(isSeen(first, wrong)).toBe(true);
  },
);
