// Versions that are built from containers read by their all-versions feed: REB-V12 to REB-V14.
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { messageOf } from '../../../src/base/errors.ts';
import type { CustomSpec, Doc, SendSpec } from '../../../src/pipeline/specs.ts';
import { Views } from '../../../src/engine/views/views.ts';
import type { Change } from '../../../src/feed/reading/change.ts';
import type { App } from '../../../src/runtime/hosts/processor-host.ts';
import { drop, resetting } from '../../../src/procedures/drop/drop.ts';
import { promote } from '../../../src/procedures/promote/promote.ts';
import { rebuildCustom } from '../../../src/procedures/rebuild/rebuild-custom.ts';
import { rebuildSink, swapSink } from '../../../src/procedures/rebuild/rebuild-sink.ts';
import { type Rebuilt, rebuild } from '../../../src/procedures/rebuild/rebuild.ts';
import { replay } from '../../../src/procedures/replay/replay.ts';
import { openFeed } from '../../../src/runtime/open-feed.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { dies } from '../../verbs/projections/dies.ts';
import { stands } from '../../verbs/projections/stands.ts';
import { Shelves, asText, declaring, rowsOf, search } from '../../verbs/projections/shelves.ts';
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

type Of<S> = Omit<ReturnType<typeof of>, 'spec'> & { readonly spec: S };
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

async function write(id: string): Promise<void> {
  const placedAt = '2026-01-01T10:00:00.000Z';
  const order = { id, type: 'order', storeId: 's1', customerId: 'c1', placedAt, cents: 1 };
  await stage.container('Orders').items.create(order);
}

/** Deletes the positions of what is being built. */
async function forget(id: string): Promise<void> {
  const { leases } = stage.services.global;
  const parameters = [{ name: '@id', value: id }];
  const found = leases.items.query<string>({ query: 'SELECT VALUE c.id FROM c WHERE CONTAINS(c.id, @id)', parameters });
  for (const lease of (await found.fetchAll()).resources) await leases.item(lease, lease).delete();
}

/** Where the hosts are in the feed of a container. */
async function positionsOf(name: string) {
  const { leases } = await openFeed(stage, name, { host: 'test' });
  return (await leases.list()).map(({ range, position = '' }) => ({ range, position }));
}

const stagedOf = async (name: string) =>
  (await new Views(stage.services.place.state, 'versions').read())?.[name]?.staged;

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
  await forget('summaries@2');
  await write('gone');
  await expect(promote(of('summaries@2'))).rejects.toMatchObject({ code: 'position-lost' });
  expect(await rebuild(of('summaries@2'))).toMatchObject({ startedOver: expect.stringContaining('no position') });
  await promote(of('summaries@2'));
  await expectExact('summaries@2');
});

it('a rebuild by all versions that begins again is ended by the next one, wherever it dies', async () => {
  await changes(60);
  await rebuild(of('summaries@2'));
  await write('gone');
  for (let after = 40; ; after += 60) {
    await forget('summaries@2');
    if (!(await dies(stage, (on, until) => rebuild(options(on, 'summaries@2', until)), after))) break;
    expect(await stagedOf('summaries')).toMatchObject({ version: 2 });
  }
  await rebuild(of('summaries@2'));
  await promote(of('summaries@2'));
  await expectExact('summaries@2');
});

const REMOVERS = {
  rebuild: (on: Stage) => rebuild(options(on, 'summaries@2', signal)),
  drop: (on: Stage) =>
    drop({ ...options(on, 'summaries@2', signal), name: 'summaries', version: 2, progress: undefined }),
};

it.each(Object.entries(REMOVERS))(
  'a %s that is overtaken while it takes a version back removes nothing that the other run has built since',
  async (_name, remove) => {
    for (const id of ['o1', 'o2', 'o3', 'o4']) await write(id);
    const views = new Views(stage.services.place.state, 'versions');
    for (let at = 0, removes = true; removes; at += 2) {
      await rebuild(of('summaries@2'));
      await resetting(views, { name: 'summaries', version: 2 });
      const goOn = await stands(stage, 'SummariesTwo', at, remove);
      removes = (await stagedOf('summaries'))?.phase === 'resetting';
      await rebuild(of('summaries@2'));
      const code = await goOn?.();
      expect(code).toBe(removes ? 'rebuild-under-way' : code);
      expect(await stagedOf('summaries')).toMatchObject({ phase: 'filled' });
      await expectExact('summaries@2');
    }
  },
);

it('what isn’t removed yet of a version is not promoted', async () => {
  await changes(30);
  await rebuild(of('summaries@2'));
  const views = new Views(stage.services.place.state, 'versions');
  await resetting(views, { name: 'summaries', version: 2 });
  await expect(promote(of('summaries@2'))).rejects.toMatchObject({ code: 'not-caught-up' });
  expect(await rebuild(of('summaries@2'))).toMatchObject({ resumed: false });
  await promote(of('summaries@2'));
  await expectExact('summaries@2');
});

it('a rebuild by all versions of a sink or a custom projection begins again where its position is gone', async () => {
  await changes(30);
  const shelves = new Shelves();
  const seen = new Set<string>();
  const custom = {
    kind: 'custom',
    name: 'boards',
    version: 1,
    sources: [{ container: 'Orders', type: 'order' }],
    apply: async (given) => {
      for (const { id } of given as Change[]) seen.add(id);
      dying.abort(new Error('It died'));
    },
    reset: async () => seen.clear(),
  } satisfies CustomSpec;
  const to = shelves.sink();
  const plain = { ...search(to), to };
  const sink = { ...plain, map: (doc: Doc) => (dying.abort(new Error('It died')), plain.map(doc)) };
  let dying = new AbortController();
  const again = async <S extends SendSpec | CustomSpec>(spec: S, run: (options: Of<S>) => Promise<Rebuilt>) => {
    const given = { ...of('summaries@2'), loaded: declaring(stage, { effects: [spec] }), spec };
    dying = new AbortController();
    await expect(run({ ...given, signal: dying.signal })).rejects.toThrow(/abort|died/);
    expect(await stagedOf(spec.name)).toMatchObject({ phase: 'filling' });
    await forget(spec.name);
    expect(await run(given)).toMatchObject({ startedOver: expect.stringContaining('no position') });
    return given;
  };
  await again(custom, rebuildCustom);
  await swapSink({ ...(await again(sink, rebuildSink)) });
  const { resources } = await stage
    .container('Orders')
    .items.query<string>("SELECT VALUE c.id FROM c WHERE c.type = 'order'")
    .fetchAll();
  expect(seen).toEqual(new Set(resources));
  expect(asText(shelves.rows())).toEqual(await rowsOf(stage, plain));
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

it('a replay by all versions that was stopped begins again once the retention has passed, and names a checkpoint that is too old', async () => {
  await changes(30);
  await app.drained(signal);
  const saved = { Orders: await positionsOf('Orders'), Customers: await positionsOf('Customers') };
  const stopped = { mayForget: () => Promise.reject(new Error('It died')) };
  const again = { ...of('summaries@1'), from: 'beginning', cold: true };
  await expect(replay({ ...again, ...stopped })).rejects.toThrow('It died');
  await changes(30);
  await app.drained(signal);
  stage.emulator.advance(8 * DAY_MS);
  await changes(30);
  await app.drained(signal);
  expect(await replay(again)).toMatchObject({ startedOver: expect.stringContaining('older than the retention') });
  const late = { ...again, from: 'checkpoint', cold: false, startOf: (name: string) => saved[name as 'Orders'] };
  await expect(replay(late)).rejects.toMatchObject({
    code: 'position-unusable',
    message: expect.stringContaining('older than the retention'),
  });
  const { resources } = await stage.services.global.leases.items
    .query("SELECT VALUE c.id FROM c WHERE CONTAINS(c.id, 'replay')")
    .fetchAll();
  expect(resources).toEqual([]);
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
