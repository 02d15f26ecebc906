// Operations in processes of their own, killed by SIGKILL at random requests.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ProjectionSpec } from '../../../src/pipeline/specs.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { Views } from '../../../src/engine/views/views.ts';
import { drop } from '../../../src/procedures/drop/drop.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { type Stage, SHOP, openStage } from '../../support/stage.ts';
import { Writers, stored } from '../migrate/writers.ts';
import { VERSIONS, compare, keepWriting, live, options, writeAny } from '../../verbs/projections/versions.ts';
import { Killing } from '../../support/killing.ts';

const SEED = suiteSeed();
/** MILLRACE_HISTORIES says how often a process is killed, over all five verbs. */
const KILLS = Math.max(5, Number(process.env['MILLRACE_HISTORIES'] ?? 5));
const EACH = Math.ceil(KILLS / 5);
const { signal } = new AbortController();
/** Changes that the live host can't apply, and the operations' processes can. */
const BAD = 30;

let stage: Stage;
afterEach(() => stage[Symbol.asyncDispose]());

describe(`SIGKILL at ${KILLS} random requests (seed ${SEED})`, () => {
  describe('of rebuild, promote, replay and redrive', () => {
    beforeEach(async () => {
      stage = await openStage({ seed: SEED }, VERSIONS);
    });

    it('rebuild, promote, replay and redrive, killed and run again, end well, and every sink is what the oracle says', async () => {
      const random = new Random(SEED);
      const killing = new Killing(random);
      const broken = { ...stage.loaded.pipeline, projections: stage.loaded.pipeline.projections.map(refusesBad) };
      const app = await live({ ...stage, loaded: { ...stage.loaded, pipeline: broken } });
      for (let n = 0; n < 100; n++) await writeAny(stage, random);
      await app.drained(signal);
      const done = (): boolean =>
        (['rebuild', 'promote', 'replay', 'redrive'] as const).every((verb) => (killing.kills.get(verb) ?? 0) >= EACH);
      for (let round = 0; !done(); round++) {
        const writing = keepWriting(stage, random, 15);
        const left = (verb: 'rebuild' | 'promote' | 'replay' | 'redrive'): number =>
          Math.max(0, Math.min(5, EACH - (killing.kills.get(verb) ?? 0)));
        const version = round % 2 === 0 ? 2 : 1;
        for (const name of ['summaries', 'days']) {
          const id = `${name}@${version}`;
          await killing.until(stage, VERSIONS, 'rebuild', left('rebuild'), id);
          await killing.until(stage, VERSIONS, 'promote', left('promote'), id);
          await killing.until(stage, VERSIONS, 'replay', left('replay'), id);
        }
        for (let n = 0; n < BAD; n++) await stage.container('Orders').items.upsert(bad(`bad-${round}-${n}`, n));
        await app.drained(signal);
        expect((await letters()).length).toBeGreaterThanOrEqual(2 * BAD);
        await killing.until(stage, VERSIONS, 'redrive', left('redrive'));
        await writing.stop();
        await app.drained(signal);
        expect(await letters()).toEqual([]);
        const views = await new Views(stage.services.place.state, 'versions').read();
        for (const name of ['summaries', 'days']) {
          expect(views?.[name]).toMatchObject({ current: { version }, staged: null, promotions: round + 1 });
          const { expected, found } = await compare(stage, `${name}@${version}`);
          expect(expected.size).toBeGreaterThan(5);
          expect({ name, found }).toEqual({ name, found: expected });
          // Where the next round builds again.
          const now = Date.now() + 3_600_000;
          await drop({ ...options(stage, `${name}@${version}`, signal), name, version: 3 - version, now });
        }
      }
      await app.stop();
      console.log(`killed: ${[...killing.kills].map(([verb, times]) => `${verb} ${times}`).join(', ')}`);
    });
  });

  describe('of migrate, there and back', () => {
    beforeEach(async () => {
      stage = await openStage({ seed: SEED });
      const definition = { id: 'ByCustomer', partitionKey: { paths: ['/customerId'] }, defaultTtl: -1 };
      await stage.services.place.database.containers.create(definition);
    });

    it('a migration, killed and run again, ends well, and no write is lost or on both sides', async () => {
      const killing = new Killing(new Random(SEED));
      const writers = new Writers(stage, { seed: SEED, processes: 2, each: 4, everyMs: 50 });
      await writers.start();
      await writers.until(100);
      let sides = 1;
      for (const verb of alternating()) {
        await killing.until(stage, SHOP, verb, Math.min(5, EACH - killing.count));
        sides += 1;
        await writers.until(writers.count + 100);
        if (killing.count >= EACH) break;
      }
      await writers.stop();
      const [now, before] = sides % 2 === 0 ? ['ByCustomer', 'Orders'] : ['Orders', 'ByCustomer'];
      expect(writers.targets).toEqual(
        Array.from({ length: sides }, (_, side) => (side % 2 === 0 ? 'Orders' : 'ByCustomer')),
      );
      expect(await stored(stage.container(now ?? ''))).toEqual(writers.expected());
      expect(before).not.toBe(now);
      console.log(`killed: migrate ${killing.count}`);
    });
  });
});

function* alternating(): Generator<'migrate' | 'rollback'> {
  for (;;) {
    yield 'migrate';
    yield 'rollback';
  }
}

const letters = () => new DeadLetters(stage.services.place.state).list();

const bad = (id: string, n: number) => ({
  id,
  type: 'order',
  storeId: `s${n % 4}`,
  // No one's, so that no renaming brings it to the live host again.
  customerId: 'nobody',
  placedAt: `2026-01-0${1 + (n % 5)}T10:00:00.000Z`,
  cents: n,
});

function refusesBad(spec: ProjectionSpec): ProjectionSpec {
  const check = (doc: Readonly<Record<string, unknown>>): void => {
    if (String(doc['id']).startsWith('bad')) throw new Error('Not in this build');
  };
  if (spec.kind === 'aggregate') return { ...spec, groupBy: (row, doc) => (check(doc), spec.groupBy(row, doc)) };
  if (spec.kind === 'copy') return { ...spec, map: (doc, joined) => (check(doc), spec.map(doc, joined)) };
  return spec;
}
