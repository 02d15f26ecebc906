// Moves in processes of their own, killed by SIGKILL at random requests of a random step, under sustained writes, while a host
// derives from all shards. Judged by the writes that the application had acknowledged. It takes a minute or more for each
// move, so it runs with those of `npm run check:histories`, or with MILLRACE_HISTORIES as the number of kills.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { movesOf } from '../../../src/operations/shards/moving/record.ts';
import { startProxy } from '../../support/proxy.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import type { MoverWork } from './move-worker.ts';
import { MOVES, MoveLoad, assertMoved } from './move-world.ts';

const SEED = suiteSeed();
const KILLS = Number(process.env['MILLRACE_HISTORIES'] ?? 0);
const { signal } = new AbortController();
/** How the steps begin, as the mover tells them. */
const STEPS = ['preparing', 'copying', 'waiting for the hosts', 'changing over', 'the map gives', 'removing'] as const;

interface Death {
  readonly step: (typeof STEPS)[number];
  /** It dies with so many requests of the step sent. */
  readonly after: number;
  /** Its last request arrives. */
  readonly lands: boolean;
}

it.skipIf(KILLS === 0)(
  `a store whose movers are killed at random requests loses no write (seed ${SEED})`,
  async (context) => {
    const random = new Random(SEED);
    const load = await MoveLoad.open(context, SEED);
    await load.start({ routers: 2, each: 2, everyMs: 20 });
    await load.more(100);
    const pauses: number[] = [];
    const died = new Map<string, number>();
    let [kills, moves, offline] = [0, 0, 0];
    // The last process ends well.
    for (let isOver = false; !isOver;) {
      const to = moves % 2 === 0 ? 'east' : 'west';
      const dies = kills < KILLS && random.chance(0.7);
      const step = random.pick(STEPS);
      const death: Death = {
        step,
        after: 1 + random.int(step === 'changing over' ? 60 : 30),
        lands: random.chance(0.5),
      };
      const { killed, pausedMs } = await run(load, to, dies ? death : undefined);
      await load.running();
      isOver = !killed && kills >= KILLS;
      if (killed) {
        kills += 1;
        died.set(step, (died.get(step) ?? 0) + 1);
        offline += Number((await load.stage.map.mapping(MOVES)).status === 'offline');
      } else {
        moves += 1;
        if (pausedMs !== undefined) pauses.push(pausedMs);
        console.log(`${kills} killed, ${moves} moves, ${load.rate} writes a second`);
      }
    }
    await load.more(20);
    const { rate } = load;
    await load.stop();
    const maps = load.stage.services.place.database.client.database('maps');
    const records = await movesOf(maps.container('shardmaps'), 'tenants', signal);
    const sorted = pauses.toSorted((a, b) => a - b);
    console.log(
      `${kills} movers killed (${[...died].map(([step, count]) => `${count} in ${step}`).join(', ')}; ${offline} left the ` +
        `keys offline) in ${moves} moves, ${load.count} writes, ${rate} a second, ${load.looks} looks at the totals; the longest wait of a write ` +
        `was ${Math.round(load.longestMs)} ms; pauses ${sorted[0]}, ${sorted[sorted.length >> 1]}, ${sorted.at(-1)} ms`,
    );
    expect(records.map(({ step, parked }) => [step, parked])).toEqual(records.map(() => ['done', []]));
    if (moves % 2 === 0) await assertMoved(load, 'west', 'east');
    else await assertMoved(load, 'east', 'west');
  },
  3_600_000,
);

async function run(
  { stage: { emulator } }: MoveLoad,
  to: string,
  death: Death | undefined,
): Promise<{ readonly killed: boolean; readonly pausedMs?: number }> {
  let sent: number | undefined;
  let isDead = false;
  await using proxy = await startProxy(Number(new URL(emulator.endpoint).port), () => {
    if (isDead || sent === undefined || !death) return !isDead;
    sent += 1;
    if (sent < death.after) return true;
    isDead = true;
    child.kill('SIGKILL');
    return death.lands;
  });
  const work: MoverWork = {
    endpoint: `http://127.0.0.1:${proxy.port}/`,
    key: emulator.key,
    moves: MOVES,
    to,
    leases: 'shop',
  };
  const child = fork(join(import.meta.dirname, 'move-worker.ts'), [JSON.stringify(work)], {
    execArgv: ['--conditions=millrace-source'],
  });
  let pausedMs: number | undefined;
  child.on('message', (told: string | { readonly pausedMs?: number }) => {
    if (typeof told === 'object') ({ pausedMs } = told);
    else if (told === 'ready') child.send('go', () => undefined);
    else if (death && told.startsWith(death.step)) sent ??= 0;
  });
  const [code, by] = (await once(child, 'exit')) as [code: number | null, signal: NodeJS.Signals | null];
  if (by === 'SIGKILL' && isDead) return { killed: true };
  if (code !== 0) throw new Error(`The move ended with ${String(code ?? by)}`);
  return { killed: false, ...(pausedMs !== undefined && { pausedMs }) };
}
