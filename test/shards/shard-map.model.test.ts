// Random histories of administrators who change one map at the same time: the real map over stores in memory. Requests
// take effect in any order and late, answers are lost, reads are stale, shards can't be reached for a while, processes die
// between any two requests. In the middle a store may be lost or be restored to an older state. An oracle makes each
// operation that took effect on a plain map. SHARD-S1 to SHARD-S7, SHARD-S11.
import { describe, expect, it } from 'vitest';
import type { MapKind } from '../../src/shards/index.ts';
import { suiteSeed } from '../support/seed.ts';
import { EVENTS, History, type HistoryOptions, totals } from './map-history.ts';
import { MISTAKES, type Mistake } from './map-world.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 75);
/** So many histories are tried with each mistake until one shows it. */
const TRIED = 5_000;

async function failureOf(seed: number, options: HistoryOptions): Promise<string[]> {
  const said = await new History(seed, options).run();
  return said === undefined ? [] : [`${said} (MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1)`];
}

describe(`administrators who change one map (seed ${SEED})`, () => {
  it.each<MapKind>(['range', 'list'])(
    'administrators who change one map of kind %s do what a plain map does, whatever dies or is lost',
    async (kind) => {
      const failures: string[] = [];
      for (let seed = SEED; seed < SEED + HISTORIES; seed++) failures.push(...(await failureOf(seed, { kind })));
      expect(failures.slice(0, 3)).toEqual([]);
      // A few histories need not have every kind of event: one in ten has the rarest.
      const rare = HISTORIES > 200 ? EVENTS.filter((event) => totals[event] === undefined) : [];
      expect(rare).toEqual([]);
    },
  );

  it.each(Object.entries(MISTAKES))(
    'administrators who change one map are seen to fail with the mistake: %s',
    async (name, first) => {
      const mistake = name as Mistake;
      const failures: string[] = [];
      for (let seed = first; seed < first + TRIED && failures.length === 0; seed++)
        failures.push(...(await failureOf(seed, { mistake })));
      expect(failures).not.toEqual([]);
    },
  );
});
