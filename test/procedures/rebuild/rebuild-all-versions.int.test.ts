// Versions that are built from containers read by their all-versions feed: REB-V12 to REB-V14.
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { messageOf } from '../../../src/base/errors.ts';
import type { App } from '../../../src/runtime/hosts/processor-host.ts';
import { promote } from '../../../src/procedures/promote/promote.ts';
import { rebuild } from '../../../src/procedures/rebuild/rebuild.ts';
import { replay } from '../../../src/procedures/replay/replay.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { compare, live, options, writeAny } from '../../verbs/projections/versions.ts';

const ALL = join(import.meta.dirname, '../../fixtures/versions-all');
const SEED = suiteSeed();
const { signal } = new AbortController();
const DAY_MS = 86_400_000;

let stage: Stage;
let app: App;
let random: Random;
beforeEach(async () => {
  stage = await openStage({ seed: SEED }, ALL);
  app = await live(stage);
  // The feeds begin when they are first read.
  await app.drained(signal);
  random = new Random(SEED);
});
afterEach(async () => {
  await app.stop();
  await stage[Symbol.asyncDispose]();
});

const of = (id: string, until: AbortSignal = signal) => options(stage, id, until);

/** A write as `writeAny` makes it; every third one deletes an order or a customer for good. */
async function change(): Promise<void> {
  if (!random.chance(0.33)) return writeAny(stage, random, 30);
  const [name, id] = random.chance(0.8) ? ['Orders', `o${random.int(30)}`] : ['Customers', `c${random.int(6)}`];
  await stage
    .container(name)
    .item(id, `s${random.int(4)}`)
    .delete()
    .catch((error: unknown) => {
      if ((error as { code?: unknown }).code !== 404) throw error;
    });
}

async function changes(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await change();
}

/** Changes until it is told to stop. */
function keepChanging(): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const running = (async () => {
    while (!stopping.signal.aborted) await change();
  })();
  return {
    stop: () => {
      stopping.abort();
      return running;
    },
  };
}

async function expectExact(...ids: string[]): Promise<void> {
  for (const id of ids) {
    const { expected, found } = await compare(stage, id);
    expect(expected.size).toBeGreaterThan(3);
    expect({ id, found }).toEqual({ id, found: expected });
  }
}

it(`a rebuild by all versions is exact after hard deletes before, while and after it is filled (seed ${SEED})`, async () => {
  await changes(150);
  const changing = keepChanging();
  for (const id of ['summaries@2', 'days@2']) {
    expect(await rebuild(of(id))).toMatchObject({ projection: id, resumed: false, parked: 0 });
    if (id === 'summaries@2') stage.emulator.split('shop/Orders');
    expect(await promote(of(id))).toMatchObject({ projection: id });
  }
  await changing.stop();
  await changes(30);
  await app.drained(signal);
  await expectExact('summaries@2', 'days@2');
  // The leases of the building are gone, those of its filling too.
  const { resources } = await stage.services.global.leases.items
    .query<string>("SELECT VALUE c.id FROM c WHERE CONTAINS(c.id, '@2')")
    .fetchAll();
  expect(resources).toEqual([]);
});

it.each([1, 40, 120])('a rebuild by all versions goes on where it was stopped, after %i changes', async (after) => {
  await changes(200);
  const stopping = new AbortController();
  const first = rebuild({
    ...of('summaries@2', stopping.signal),
    progress: (applied) => applied >= after && stopping.abort(),
    ruPerSecond: 3_000,
  });
  await first.then(
    () => undefined,
    () => undefined,
  );
  await changes(100);
  await rebuild(of('summaries@2'));
  await promote(of('summaries@2'));
  await app.drained(signal);
  await expectExact('summaries@2');
});

it('a rebuild by all versions begins again from nothing where the retention has passed the position that it had noted', async () => {
  await changes(80);
  await rebuild(of('summaries@2'));
  await changes(30);
  await app.drained(signal);
  stage.emulator.advance(8 * DAY_MS);
  await changes(30);
  await app.drained(signal);
  await expect(promote(of('summaries@2'))).rejects.toMatchObject({
    code: 'retention-passed',
    message: expect.stringContaining('older than the retention'),
  });
  expect(await rebuild(of('summaries@2'))).toMatchObject({
    startedOver: expect.stringContaining('older than the retention'),
    resumed: false,
  });
  await promote(of('summaries@2'));
  await app.drained(signal);
  await expectExact('summaries@2');
});

it('a rebuild by all versions is not promoted, and begins again, where its position is gone', async () => {
  await changes(60);
  await rebuild(of('summaries@2'));
  const { leases } = stage.services.global;
  const { resources } = await leases.items
    .query<string>("SELECT VALUE c.id FROM c WHERE CONTAINS(c.id, 'summaries@2')")
    .fetchAll();
  for (const id of resources) await leases.item(id, id).delete();
  await stage.container('Orders').items.create({
    id: 'gone',
    type: 'order',
    storeId: 's1',
    customerId: 'c1',
    placedAt: '2026-01-01T10:00:00.000Z',
    cents: 1,
  });
  await expect(promote(of('summaries@2'))).rejects.toMatchObject({ code: 'position-lost' });
  expect(await rebuild(of('summaries@2'))).toMatchObject({ startedOver: expect.stringContaining('no position') });
  await promote(of('summaries@2'));
  await expectExact('summaries@2');
});

it('a rebuild by all versions says so where the container no longer keeps versions, and hosts continue once it does', async () => {
  await changes(40);
  await app.drained(signal);
  const orders = stage.container('Orders');
  const { resource } = await orders.read();
  const { changeFeedPolicy, ...without } = resource ?? {};
  await orders.replace(without);
  await expect(rebuild(of('summaries@2'))).rejects.toMatchObject({
    code: 'versions-not-kept',
    hint: expect.stringContaining('change feed policy'),
  });
  const failures = () => app.sources().flatMap(({ leases }) => leases.flatMap(({ failure }) => failure ?? []));
  await vi.waitUntil(() => failures().some((failure) => messageOf(failure).includes('no all-versions feed')), 30_000);
  await orders.replace({ ...without, changeFeedPolicy } as never);
  await vi.waitUntil(() => failures().length === 0, 60_000);
});

it('a projection of all versions is replayed from the beginning and from a time, and brings nothing back that was deleted', async () => {
  await changes(120);
  await app.drained(signal);
  const summaries = stage.container('Summaries');
  const { resources } = await summaries.items
    .query<{ id: string; storeId: string }>("SELECT TOP 3 c.id, c.storeId FROM c WHERE c.type = 'summary'")
    .fetchAll();
  for (const { id, storeId } of resources) await summaries.item(id, storeId).delete();
  const changing = keepChanging();
  await replay({ ...of('summaries@1'), from: 'beginning', cold: true });
  await replay({ ...of('days@1'), from: 'T', cold: false, startOf: () => new Date(0) });
  await changing.stop();
  await app.drained(signal);
  await expectExact('days@1');
  const { expected, found } = await compare(stage, 'summaries@1');
  const deleted = new Set(resources.map(({ id, storeId }) => JSON.stringify([storeId, id])));
  const left = (rows: ReadonlyMap<string, unknown>) => new Map([...rows].filter(([key]) => !deleted.has(key)));
  expect(left(found)).toEqual(left(expected));
});
