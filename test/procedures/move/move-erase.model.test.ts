// Random histories of moves, erasures of tenants, sweeps and restores together, in the world of move-protocol.ts. The judge knows
// the application's writes alone: after an erasure nothing of the tenant lives in either shard, the global place, the
// archive, the letters or what is deferred, and of the other tenant nothing is lost, twice, or on both sides. ERASE-P61, ERASE-P65.
import { expect, it } from 'vitest';
import { suiteSeed } from '../../support/seed.ts';
import { neverSeen, runHistory } from './protocol/move-history.ts';
import { ERASE_MISTAKES, isSeen, type MoveMistake } from './protocol/move-mistakes.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 80);

it(`nothing of a tenant is left, and others lose nothing, while keys move and are archived (seed ${SEED})`, () => {
  const totals = new Map<string, number>();
  const failures: string[] = [];
  for (let seed = SEED; seed < SEED + HISTORIES && failures.length < 10; seed++)
    failures.push(...runHistory(seed, { erases: true, totals }));
  expect(failures).toEqual([]);
  expect(neverSeen(totals, HISTORIES).filter((name) => name !== 'deleted')).toEqual([]);
});

it.each(Object.entries(ERASE_MISTAKES))('the model of moves and erasures is seen to fail if %s', (mistake, first) => {
  const wrong = (seed: number): string[] => runHistory(seed, { mistake: mistake as MoveMistake, erases: true });
  expect(isSeen(first, wrong)).toBe(true);
});
