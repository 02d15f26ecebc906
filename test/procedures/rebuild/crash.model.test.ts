// Deaths at random requests of every operation on projections: REB-V2, REB-V3 and REB-V6.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { redrive } from '../../../src/procedures/dead-letters/redrive.ts';
import { Views } from '../../../src/engine/views/views.ts';
import { drop } from '../../../src/procedures/drop/drop.ts';
import { promote } from '../../../src/procedures/promote/promote.ts';
import { promoteBack } from '../../../src/procedures/promote/promote-back.ts';
import { rebuild } from '../../../src/procedures/rebuild/rebuild.ts';
import { replay } from '../../../src/procedures/replay/replay.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { type Work, dies } from '../../verbs/projections/dies.ts';
import { VERSIONS, compare, keepWriting, live, options, specOf, writeAny } from '../../verbs/projections/versions.ts';

// MILLRACE_SEED repeats a run, MILLRACE_HISTORIES says how often somebody dies.
const SEED = suiteSeed();
const DEATHS = Number(process.env['MILLRACE_HISTORIES'] ?? 4);
const { signal } = new AbortController();

let stage: Stage;
beforeEach(async () => {
  stage = await openStage({ seed: SEED }, VERSIONS);
});
afterEach(() => stage[Symbol.asyncDispose]());

it(`whichever process dies at ${DEATHS} moments of rebuilding, promoting, replaying, redriving and dropping, all is right in the end (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  for (let n = 0; n < 120; n++) await writeAny(stage, random);
  const app = await live(stage);
  await app.drained(signal);
  const writing = keepWriting(stage, random, 15);
  const works: readonly [string, Work, number][] = [
    ['rebuild summaries', (of, until) => rebuild(options(of, 'summaries@2', until)), 250],
    ['promote summaries', (of, until) => promote(options(of, 'summaries@2', until)), 80],
    [
      'replay summaries',
      (of, until) => replay({ ...options(of, 'summaries@2', until), from: 'beginning', cold: true }),
      150,
    ],
    ['rebuild days', (of, until) => rebuild(options(of, 'days@2', until)), 250],
    ['promote days', (of, until) => promote({ ...options(of, 'days@2', until), keepMs: 3_600_000 }), 80],
    ['go back to days', (of, until) => promoteBack({ ...options(of, 'days@1', until), keepMs: 3_600_000 }), 80],
    ['and there again', (of, until) => promoteBack({ ...options(of, 'days@2', until), keepMs: 3_600_000 }), 80],
    ['redrive', (of, until) => redrive({ ...of, signal: until, readLagMs: 0 }), 40],
    [
      'drop days',
      async (of, until) => {
        await promote({ ...options(of, 'days@2', until), keepMs: 0 });
        // Hosts apply nothing more to it once they have seen that.
        await app.drained(signal);
        // Dropped twice there is nothing left to drop it from.
        const view = (await new Views(of.services.place.state, 'versions').read())?.['days'];
        if (view?.previous)
          await drop({ ...options(of, 'days@2', until), name: 'days', version: 1, now: Date.now() + 2 * 3_600_000 });
      },
      250,
    ],
  ];
  let deaths = 0;
  for (const [index, [what, work, pieces]] of works.entries()) {
    const share = Math.ceil((DEATHS * (index + 1)) / works.length);
    while (deaths < share) {
      const died = await dies(stage, work, 15 + random.int(pieces)).catch((error: unknown) => {
        throw new Error(`${what}, after ${deaths} deaths`, { cause: error });
      });
      deaths += 1;
      if (!died) break;
    }
    await work(stage, signal, () => true);
  }
  await writing.stop();
  await app.drained(signal);
  await app.stop();
  const views = await new Views(stage.services.place.state, 'versions').read();
  expect(views?.['summaries']).toMatchObject({ current: { version: 2 }, staged: null, promotions: 1 });
  expect(views?.['days']).toMatchObject({ current: { version: 2 }, staged: null, promotions: 3 });
  for (const id of ['summaries@2', 'days@2']) {
    const { expected, found } = await compare(stage, id);
    expect(expected.size).toBeGreaterThan(5);
    expect({ id, found }).toEqual({ id, found: expected });
  }
  const { resources } = await stage
    .container(specOf(stage, 'days@1').into.container)
    .items.query('SELECT * FROM c')
    .fetchAll();
  expect(resources).toEqual([]);
});
