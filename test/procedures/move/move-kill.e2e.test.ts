// Moves in processes of their own, killed by SIGKILL at random requests, under sustained writes.
import { expect, it } from 'vitest';
import { movesOf } from '../../../src/procedures/move/record.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { MoveStage, TenantWriters } from './move-stage.ts';
import { Mover } from './protocol/mover.ts';

const SEED = suiteSeed();
const KILLS = Number(process.env['MILLRACE_HISTORIES'] ?? 4);
const { signal } = new AbortController();

it(
  `a tenant whose movers are killed at random requests loses no write (seed ${SEED})`,
  async () => {
    const random = new Random(SEED);
    await using stage = await MoveStage.open(SEED);
    await using mover = await Mover.open(stage.emulator, 'hosts');
    const writers = new TenantWriters(stage);
    await writers.start({ tenants: [1, 2] });
    await writers.more(100);
    let [kills, moves, longest, offline] = [0, 0, 60, 0];
    const began = performance.now();
    // The last process ends well.
    for (let isOver = false; !isOver;) {
      const to = moves % 2 === 0 ? 'east' : 'west';
      const dies = kills < KILLS && random.chance(0.7);
      const death = { after: 1 + random.int(longest), lands: random.chance(0.5) };
      const { killed, pieces, answer } = await mover.move({ moves: 1, to }, dies ? death : undefined);
      if (answer.error !== undefined) throw new Error(answer.error);
      await writers.more(1);
      isOver = !killed && kills >= KILLS;
      if (killed) {
        kills += 1;
        offline += Number((await stage.mapping(1)).status === 'offline');
      } else {
        moves += 1;
        longest = Math.max(longest, pieces);
      }
    }
    await writers.more(50);
    await writers.stop();
    const records = await movesOf(stage.database('maps').container('shardmaps'), 'tenants', signal);
    console.log(
      `${kills} movers killed in ${moves} moves, ${offline} of them with the keys offline; ${writers.count} writes, ` +
        `${Math.round((1_000 * writers.count) / (performance.now() - began))} a second; ` +
        `the longest wait of a write was ${Math.round(writers.longestMs)} ms`,
    );
    expect(records.map(({ step, parked }) => [step, parked])).toEqual(records.map(() => ['done', []]));
    const [now, before] = moves % 2 === 0 ? [stage.west, stage.east] : [stage.east, stage.west];
    expect(await stage.stored(now, 1)).toEqual(writers.expected(1));
    expect(await stage.everything(before, 1)).toEqual([]);
    expect(await stage.stored(stage.west, 2)).toEqual(writers.expected(2));
  },
  300_000 + 60_000 * KILLS,
);
