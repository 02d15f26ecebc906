// RU_BUDGET is kept by whatever works through documents, not by live hosts alone: judged by what the server charged.
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import type { CosmosClient, CosmosClientOptions } from '@azure/cosmos';
import { type TestContext, expect, it } from 'vitest';
import { openArchive } from '../../src/archive/open.ts';
import { sweepArchive } from '../../src/archive/sweep/sweep.ts';
import type { Clock } from '../../src/base/clock.ts';
import { connect } from '../../src/cosmos/connect.ts';
import { limitSpending } from '../../src/cosmos/budget/meter.ts';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { migrate } from '../../src/procedures/migrate/migrate.ts';
import { redrive } from '../../src/procedures/dead-letters/redrive.ts';
import { rebuild } from '../../src/procedures/rebuild/rebuild.ts';
import { replay } from '../../src/procedures/replay/replay.ts';
import { verify } from '../../src/procedures/verify/verify.ts';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import { MemoryBlobStore } from '../archive/memory-blob-store.ts';
import { VERSIONS, fast, options } from '../verbs/projections/versions.ts';
import { Sleepers } from '../support/sleepers.ts';
import { COLD, type Stage, openStage } from '../support/stage.ts';

const ORDERS = 150;
/** Turns of the event loop without a request under way after which whoever sleeps keeps everything waiting. */
const QUIET_TURNS = 4;
const { signal } = new AbortController();
const screen = { progress: () => undefined };

/** A budget's time, which passes only while whoever waits for the budget expectKept everything waiting. */
class BudgetClock implements Clock {
  readonly #sleepers = new Sleepers();
  #now = 0;
  underWay = 0;

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  sleep(ms: number, until?: AbortSignal): Promise<void> {
    return this.#sleepers.sleepUntil(this.#now + ms, until);
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    const state = { ended: false };
    const working = work().finally(() => (state.ended = true));
    working.catch(() => undefined);
    for (let quiet = 0; !state.ended;) {
      await (this.#sleepers.none ? delay(1) : turn());
      quiet = this.underWay > 0 || this.#sleepers.none ? 0 : quiet + 1;
      if (quiet < QUIET_TURNS) continue;
      this.#now = Math.max(this.#now, this.#sleepers.next);
      this.#sleepers.wakeAt(this.#now);
      quiet = 0;
    }
    return working;
  }
}

/** The stage by a client with a budget; `spent` says what documents of each container were charged since it was asked last. */
async function limited({ onTestFinished }: Pick<TestContext, 'onTestFinished'>, folder = VERSIONS) {
  const stage = await openStage({}, folder);
  onTestFinished(() => stage[Symbol.asyncDispose]());
  const { httpClient } = stage.emulator.clientOptions;
  const clock = new BudgetClock();
  const charges = new Map<string, number>();
  const counting: Required<CosmosClientOptions>['httpClient'] = {
    sendRequest: async (request) => {
      clock.underWay += 1;
      const answer = await httpClient.sendRequest(request).finally(() => (clock.underWay -= 1));
      const [, container] = /\/colls\/([^/]+)\/docs/.exec(request.url) ?? [];
      const charge = Number(answer.headers.get('x-ms-request-charge') ?? 0);
      if (container !== undefined) charges.set(container, (charges.get(container) ?? 0) + charge);
      return answer;
    },
  };
  const cosmos: CosmosClient = connect(stage.settings.cosmos, [], { httpClient: counting });
  onTestFinished(() => cosmos.dispose());
  const database = cosmos.database('shop');
  const [leases, state] = [database.container('leases'), database.container('millrace')];
  const place = { ...stage.services.place, database, state };
  const services = {
    ...stage.services,
    place,
    global: { home: place, state, leaseDatabase: database, leases },
  };
  for (let n = 0; n < ORDERS; n++)
    await stage.container('Orders').items.create({
      id: `o${n}`,
      type: 'order',
      storeId: 's1',
      customerId: `c${n % 7}`,
      placedAt: '2020-01-01T10:00:00.000Z',
      completedAt: '2020-01-02T10:00:00.000Z',
      cents: n,
    });
  /** Does it under a budget, and holds what each of `containers` was charged against the time that it took. */
  const expectKept = async (
    ruPerSecond: number,
    work: () => Promise<unknown>,
    ...containers: string[]
  ): Promise<void> => {
    limitSpending(cosmos, ruPerSecond, clock);
    charges.clear();
    const began = clock.monotonic();
    await clock.run(work);
    const seconds = (clock.monotonic() - began) / 1_000;
    for (const name of containers) {
      const charge = charges.get(name) ?? 0;
      // Otherwise it would say nothing.
      expect(charge).toBeGreaterThan(4 * ruPerSecond);
      // A second's worth was saved up, and what was under way together at the end no one waited for.
      expect(charge).toBeLessThan(2 * ruPerSecond * (1 + seconds));
    }
  };
  const derive = async (of: Stage): Promise<void> => {
    const app = await compose({ ...of, ...fast, host: 'live' });
    await app.start();
    await app.drained(signal);
    await app.stop();
  };
  return { plain: stage, stage: { ...stage, services } satisfies Stage, expectKept, derive };
}

it('a live host, a rebuild and a replay keep to the budget', async (context) => {
  const { stage, expectKept, derive } = await limited(context);
  await expectKept(20, () => derive(stage), 'Summaries');
  const summaries = options(stage, 'summaries@2', signal);
  await expectKept(20, () => rebuild(summaries), 'SummariesTwo');
  await expectKept(20, () => replay({ ...summaries, from: 'beginning', cold: true }), 'SummariesTwo');
});

it('verify and repair keep to the budget', async (context) => {
  const { plain, stage, expectKept, derive } = await limited(context);
  await derive(plain);
  for (let n = 0; n < ORDERS; n++) await plain.container('Summaries').item(`o${n}`, 's1').delete();
  const look = { signal, screen, readLagMs: 0, settings: stage.settings };
  await expectKept(1, () => verify(stage.loaded, stage.services, look), 'Orders');
  await expectKept(20, () => verify(stage.loaded, stage.services, { ...look, repair: true }), 'Summaries');
  expect(await verify(plain.loaded, plain.services, look)).toMatchObject({ different: 0 });
});

it('a redrive keeps to the budget', async (context) => {
  const { plain, stage, expectKept, derive } = await limited(context);
  let broken = true;
  const projections = stage.loaded.pipeline.projections.map((spec) => {
    if (spec.kind !== 'copy') return spec;
    const map: typeof spec.map = (...of) => {
      if (broken) throw new Error('broken');
      return spec.map(...of);
    };
    return { ...spec, map };
  });
  const loaded = { ...stage.loaded, pipeline: { ...stage.loaded.pipeline, projections } };
  await derive({ ...plain, loaded });
  expect(await new DeadLetters(plain.services.place.state).list()).toHaveLength(ORDERS);
  broken = false;
  await expectKept(20, () => redrive({ ...stage, loaded, signal, readLagMs: 0 }), 'Summaries');
  expect(await new DeadLetters(plain.services.place.state).list()).toEqual([]);
});

it('a sweep keeps to the budget', async (context) => {
  const { plain, stage, expectKept, derive } = await limited(context, COLD);
  await derive(plain);
  const { pipeline, model } = stage.loaded;
  const [spec] = pipeline.archives;
  const archive = await openArchive(spec!, pipeline, model, { ...stage.services.place, store: new MemoryBlobStore() });
  const gate = async () => ({ acknowledged: () => Number.MAX_SAFE_INTEGER, parked: () => false, waits: () => false });
  await expectKept(20, () => sweepArchive(archive, { now: Date.now(), gate, signal, dryRun: false }), 'Orders');
});

it('a migration keeps to the budget', async (context) => {
  const { plain, stage, expectKept } = await limited(context);
  await plain.services.place.database.containers.create({ id: 'Moved', partitionKey: { paths: ['/customerId'] } });
  const { database, state } = stage.services.place;
  const [source, target] = [database.container('Orders'), database.container('Moved')];
  await expectKept(20, () => migrate({ state, source, target, signal, readLagMs: 0 }), 'Moved');
});
