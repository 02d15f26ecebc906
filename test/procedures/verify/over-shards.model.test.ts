// Deaths at random requests while versions are built over shards, and shards that come meanwhile: SPREAD-V1 to SPREAD-V5.
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Views } from '../../../src/engine/views/views.ts';
import { drop } from '../../../src/procedures/drop/drop.ts';
import { promoteBack } from '../../../src/procedures/promote/promote-back.ts';
import { promote } from '../../../src/procedures/promote/promote.ts';
import { rebuild } from '../../../src/procedures/rebuild/rebuild.ts';
import { type Application, given } from '../../runtime/spread-world.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import type { SpreadStage } from '../../support/spread-stage.ts';
import { type Work, dies } from '../../verbs/projections/dies.ts';
import {
  SPREAD_VERSIONS,
  optionsOver,
  ordersOf,
  ownLeases,
  summariesOf,
  totalsOf,
} from '../../verbs/projections/spread-versions.ts';

// MILLRACE_SEED repeats a run, MILLRACE_HISTORIES says how often a process dies.
const SEED = suiteSeed();
const DEATHS = Number(process.env['MILLRACE_HISTORIES'] ?? 2);
const KEEP = { keepMs: 3_600_000 };
const { signal } = new AbortController();

/** The shards of the map; store `s0` is in the first one, and so on. */
class Shop {
  readonly shards: string[] = [];
  readonly stage: SpreadStage;
  readonly application: Application;
  readonly #random: Random;

  constructor(stage: SpreadStage, application: Application, shards: readonly string[], random: Random) {
    this.stage = stage;
    this.application = application;
    this.shards.push(...shards);
    this.#random = random;
  }

  /** Orders come, change, move to another day, and are cancelled. */
  async write(at = this.#random.int(this.shards.length)): Promise<void> {
    await this.application.order(`s${at}`, this.shards[at] ?? '', `o${this.#random.int(25)}`, this.#random.int(1_000), {
      placedAt: `2026-01-0${1 + this.#random.int(4)}T10:00:00Z`,
      ...(this.#random.chance(0.15) && { cancelled: true }),
    });
  }

  /** A shard with documents that hosts read at once. */
  async addShard(): Promise<void> {
    const at = this.shards.length;
    const shard = `shard${at}`;
    await this.stage.addShard(shard);
    await this.application.open(`s${at}`, shard);
    this.shards.push(shard);
    for (let n = 0; n < 5; n++) await this.write(at);
  }

  keepWriting(): { stop(): Promise<void> } {
    const stopping = new AbortController();
    const running = (async () => {
      while (!stopping.signal.aborted) {
        await this.write();
        await delay(30);
      }
    })();
    return {
      stop: () => {
        stopping.abort();
        return running;
      },
    };
  }
}

it(`whichever process dies at ${DEATHS} moments while versions are built over shards that come and are written, all is right in the end (seed ${SEED})`, async (context) => {
  const random = new Random(SEED);
  const { stage, application, host } = await given(context, ['shard0', 'shard1'], {
    folder: SPREAD_VERSIONS,
    seed: SEED,
  });
  const shop = new Shop(stage, application, ['shard0', 'shard1'], random);
  for (let n = 0; n < 40; n++) await shop.write();
  const app = await host();
  await app.drained(signal);
  const writing = shop.keepWriting();
  const at = (of: SpreadStage, id: string, until: AbortSignal) => optionsOver(of, id, until);
  const works: readonly [string, Work<SpreadStage>, number][] = [
    ['rebuild summaries', (of, until) => rebuild(at(of, 'summaries@2', until)), 300],
    ['promote summaries', (of, until) => promote({ ...at(of, 'summaries@2', until), ...KEEP }), 120],
    ['rebuild totals', (of, until) => rebuild(at(of, 'totals@2', until)), 300],
    ['promote totals', (of, until) => promote({ ...at(of, 'totals@2', until), ...KEEP }), 120],
    ['go back to summaries', (of, until) => promoteBack({ ...at(of, 'summaries@1', until), ...KEEP }), 120],
    ['and there again', (of, until) => promoteBack({ ...at(of, 'summaries@2', until), ...KEEP }), 120],
    [
      'drop totals',
      async (of, until) => {
        await promote({ ...at(of, 'totals@2', until), keepMs: 0 });
        // Hosts apply nothing more to it once they have seen that.
        await writing.stop();
        await app.drained(signal);
        const view = (await new Views(of.services.global.state, of.loaded.pipeline.name).read())?.['totals'];
        if (view?.previous)
          await drop({ ...at(of, 'totals@1', until), name: 'totals', version: 1, now: Date.now() + 2 * KEEP.keepMs });
      },
      300,
    ],
  ];
  // Two shards come, at any moments of two of these.
  const comes = new Set([random.int(4), random.int(works.length)]);
  let deaths = 0;
  for (const [index, [what, work, pieces]] of works.entries()) {
    const coming = comes.has(index) ? delay(random.int(1_500)).then(() => shop.addShard()) : undefined;
    const share = Math.ceil((DEATHS * (index + 1)) / works.length);
    while (deaths < share) {
      const died = await dies(stage, work, 15 + random.int(pieces)).catch((error: unknown) => {
        throw new Error(`${what}, after ${deaths} deaths`, { cause: error });
      });
      deaths += 1;
      if (!died) break;
    }
    await work(stage, signal, () => true);
    await coming;
  }
  await writing.stop();
  await app.drained(signal);
  await app.stop();
  const views = await new Views(stage.services.global.state, stage.loaded.pipeline.name).read();
  expect(views?.['summaries']).toMatchObject({ current: { version: 2 }, staged: null, promotions: 3 });
  expect(views?.['totals']).toMatchObject({ current: { version: 2 }, staged: null, previous: null, promotions: 1 });
  for (const [n, shard] of shop.shards.entries())
    for (const container of ['Summaries', 'SummariesNext'])
      expect([shard, container, await summariesOf(stage, shard, container)]).toEqual([
        shard,
        container,
        ordersOf(application, `s${n}`),
      ]);
  expect(await totalsOf(stage, 'TotalsNext')).toEqual(application.totals());
  expect((await stage.container('Totals').items.query('SELECT * FROM c').fetchAll()).resources).toEqual([]);
  expect(await ownLeases(stage, '@')).toEqual([]);
});
