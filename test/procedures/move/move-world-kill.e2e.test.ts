// Moves beside hosts of all shards, while movers and hosts are killed by SIGKILL: a short form of `npm run soak:moves`. A move
// takes some seconds, so it runs with those of `npm run check:histories`, or with MILLRACE_HISTORIES as the number of kills.
import { expect, it } from 'vitest';
import { suiteSeed } from '../../support/seed.ts';
import { faultsOf, runWorld } from './run.ts';

const SEED = suiteSeed();
const KILLS = Number(process.env['MILLRACE_HISTORIES'] ?? 0);

it.skipIf(KILLS === 0)(
  `stores whose movers and hosts are killed at random lose no write, and totals of all shards stay right (seed ${SEED})`,
  async () => {
    const report = await runWorld({
      moves: 4 * KILLS,
      kills: KILLS,
      rate: 100,
      stores: 2,
      documents: 60,
      batch: 1,
      minutes: 30,
      seed: SEED,
    });
    console.log(
      `${report.moves} moves, killed in ${JSON.stringify(report.killedIn)}, ${report.hostsKilled} hosts killed, ` +
        `${report.perSecond} writes a second, ${report.looks} looks at the totals`,
    );
    expect(faultsOf(report)).toEqual([]);
    expect(report.looks).toBeGreaterThan(0);
  },
  3_600_000,
);
