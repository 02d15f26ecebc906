// A version that is built from a history of which a part has left for the archive.
import { ChangeFeedPolicy, ChangeFeedRetentionTimeSpan } from '@azure/cosmos';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AggregateSpec, Doc, Pipeline } from '../../../src/pipeline/specs.ts';
import { recompute } from '../../../src/pipeline/oracle/recompute.ts';
import { type App, compose } from '../../../src/runtime/hosts/processor-host.ts';
import { migrate } from '../../../src/procedures/migrate/migrate.ts';
import { sweep } from '../../../src/procedures/archive/sweep.ts';
import { promote } from '../../../src/procedures/promote/promote.ts';
import { rebuild } from '../../../src/procedures/rebuild/rebuild.ts';
import { replay } from '../../../src/procedures/replay/replay.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';
import { COLD, type Stage, openStage } from '../../support/stage.ts';

let azurite: Azurite;
let used = 0;
beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(() => azurite.close());

const { signal } = new AbortController();
const screen = { draw: () => undefined, line: () => undefined };
/** Polls are closer than writes of the application: a host is drained only once a read finds nothing. */
const FAST = { readLagMs: 0, viewsRefreshMs: 10, timings: { pollMs: 10, acquireMs: 100 } };

/** The cold shop with a second version of its days, under a type of its own. */
async function coldStage(
  feed: 'latest' | 'all-versions' = 'latest',
): Promise<Stage & { readonly first: AggregateSpec; readonly second: AggregateSpec }> {
  const { connectionString } = azurite;
  const stage = await openStage({}, COLD, { connectionString, container: `rebuild-${(used += 1)}` });
  const [first] = stage.loaded.pipeline.projections;
  if (first?.kind !== 'aggregate') throw new Error('The cold shop has no aggregate');
  const most = { kind: 'max' as const, of: (order: unknown) => Number((order as Doc)['cents']) };
  const second: AggregateSpec = {
    ...first,
    version: 2,
    into: { container: 'Days', type: 'day-two' },
    measures: { ...first.measures, most },
  };
  const sources = stage.loaded.pipeline.sources.map((rules) => ({ ...rules, feed }));
  const pipeline: Pipeline = { ...stage.loaded.pipeline, sources, projections: [first, second] };
  if (feed === 'all-versions') {
    const { resource } = await stage.container('Orders').read();
    await stage.container('Orders').delete();
    const changeFeedPolicy = new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(60));
    await stage.services.place.database.containers.create({ ...resource, defaultTtl: -1, changeFeedPolicy });
  }
  return { ...stage, loaded: { ...stage.loaded, pipeline }, first, second };
}

const order = (n: number): Doc => ({
  id: `o${n}`,
  type: 'order',
  storeId: `s${n % 2}`,
  customerId: 'c1',
  // Every other one is old enough to leave.
  placedAt: `2026-0${1 + (n % 2)}-0${1 + (n % 7)}T10:00:00.000Z`,
  cents: 100 + n,
});
const orders = Array.from({ length: 40 }, (_, n) => order(n));

async function hot(stage: Stage): Promise<number> {
  const { resources } = await stage.container('Orders').items.query('SELECT c.id FROM c').fetchAll();
  return resources.length;
}

async function days(stage: Stage, { into }: AggregateSpec): Promise<Map<string, Doc>> {
  const query = { query: 'SELECT * FROM c WHERE c.type = @type', parameters: [{ name: '@type', value: into.type }] };
  const { resources } = await stage.container(into.container).items.query<Doc>(query).fetchAll();
  return new Map(
    resources.map(({ _rid, _self, _etag, _attachments, _ts, _mr, ...own }) => [String(own['id']), own] as const),
  );
}

const expected = (stage: Stage, spec: AggregateSpec, all: readonly Doc[]): Map<string, Doc> =>
  new Map(
    [...recompute(spec, () => all, stage.loaded.pipeline.sources).values()].map((row) => [String(row['id']), row]),
  );

async function running(stage: Stage): Promise<App> {
  const app = await compose({ ...stage, ...FAST, host: 'live' });
  await app.start();
  return app;
}

it('a rebuild has what was archived before it began, lets nothing leave meanwhile, and is as it should be when it becomes current', async () => {
  await using stage = await coldStage();
  const { settings, services, loaded, second } = stage;
  const sweeping = () => sweep({ settings, services, loaded, signal, screen });
  const app = await running(stage);
  for (const doc of orders.slice(0, 30)) await stage.container('Orders').items.upsert(doc);
  await app.drained(signal);
  expect(await sweeping()).toMatchObject([{ removed: 15 }]);
  expect(await hot(stage)).toBe(15);
  for (const doc of orders.slice(30)) await stage.container('Orders').items.upsert(doc);
  await app.drained(signal);

  const options = { settings, services, loaded, spec: second, ...FAST, signal };
  // Given up half-way: from then on, until it is promoted or dropped, it is being built.
  await rebuild({ ...options, signal: AbortSignal.timeout(1) }).catch(() => undefined);
  expect(await sweeping()).toMatchObject([{ removed: 0 }]);
  expect(await rebuild(options)).toMatchObject({ resumed: true, parked: 0 });
  expect(await sweeping()).toMatchObject([{ removed: 0 }]);
  expect(await hot(stage)).toBe(25);
  expect(await days(stage, second)).toEqual(expected(stage, second, orders));
  await promote(options);
  await app.drained(signal);
  expect(await sweeping()).toMatchObject([{ removed: 5 }]);
  await app.drained(signal);
  expect(await hot(stage)).toBe(20);
  expect(await days(stage, second)).toEqual(expected(stage, second, orders));
  await app.stop();
});

/** An application beside an archive that lets documents expire. `truth`: what it has left, by id. */
function application(stage: Stage, random: Random) {
  const container = stage.container('Orders');
  const truth = new Map(orders.map((doc) => [String(doc['id']), doc]));
  /** Documents that leave and that it doesn't touch. */
  const quiet = orders.flatMap(({ id }, n) => (n % 4 === 0 ? [String(id)] : []));
  const expireOne = (): void => {
    const id = quiet.pop();
    if (id !== undefined) stage.emulator.expire('shop/Orders', id);
  };
  const act = async (): Promise<void> => {
    const n = random.pick(
      orders
        .keys()
        .filter((at) => at % 4 !== 0)
        .toArray(),
    );
    const { id, storeId } = order(n) as { id: string; storeId: string };
    const cents = random.int(10_000);
    const item = container.item(id, storeId);
    const kind = random.unit();
    if (kind < 0.35) return void stage.emulator.expire('shop/Orders', id);
    const { resource } = await item.read<Doc>();
    if (kind < 0.45) {
      if (!resource) return;
      await item.delete();
      truth.delete(id);
    } else if (kind < 0.9) {
      // Mark and time to live as they were read.
      if (!resource) return;
      await container.items.upsert({ ...resource, cents });
      truth.set(id, { ...order(n), cents });
    } else {
      await container.items.upsert({ ...order(n), cents });
      truth.set(id, { ...order(n), cents });
    }
  };
  return { truth, act, expireOne };
}

it('the same where documents leave by expiry, and the application deletes, writes back and lets expire meanwhile', async () => {
  await using stage = await coldStage('all-versions');
  const { settings, services, loaded, second } = stage;
  const sweeping = () => sweep({ settings, services, loaded, signal, screen });
  const app = await running(stage);
  await app.drained(signal);
  for (const doc of orders) await stage.container('Orders').items.upsert(doc);
  await app.drained(signal);
  for (let removed = 0; removed < 20;) {
    const [swept] = await sweeping();
    removed += swept?.removed ?? 0;
    await app.drained(signal);
  }
  const { truth, act, expireOne } = application(stage, new Random(suiteSeed()));
  for (let n = 0; n < 3; n++) expireOne();
  for (let n = 0; n < 30; n++) await act();
  const options = { settings, services, loaded, spec: second, ...FAST, signal };
  // Slowly, so that much happens meanwhile.
  let expired = 0;
  const progress = (): void => void ((expired += 1) < 5 && expireOne());
  const rebuilding = rebuild({ ...options, ruPerSecond: 800, progress });
  const state = { done: false };
  const settled = rebuilding.finally(() => (state.done = true));
  // No more than that: a fast machine writes more for ever than a rebuild with 800 RU/s follows.
  for (let n = 0; !state.done && n < 5_000; n++) await act();
  expect(await settled).toMatchObject({ parked: 0 });
  expect(await sweeping()).toMatchObject([{ removed: 0 }]);
  for (let n = 0; n < 50; n++) await act();
  expireOne();
  await promote(options);
  for (let n = 0; n < 50; n++) await act();
  await app.drained(signal);
  expect(truth.size).toBeGreaterThan(3);
  expect(await days(stage, second)).toEqual(expected(stage, second, [...truth.values()]));
  await app.stop();
});

it('a replay from the beginning brings back what only the archive has, though more leaves while it runs', async () => {
  await using stage = await coldStage();
  const { settings, services, loaded, first } = stage;
  const app = await running(stage);
  for (const doc of orders.slice(0, 30)) await stage.container('Orders').items.upsert(doc);
  await app.drained(signal);
  await sweep({ settings, services, loaded, signal, screen });
  for (const doc of orders.slice(30)) await stage.container('Orders').items.upsert(doc);
  await app.drained(signal);
  await app.stop();
  // The sink and what is kept about it are lost.
  for (const [container, keyed] of [
    [stage.container('Days'), 'storeId'],
    [services.place.state, 'pk'],
  ] as const) {
    const { resources } = await container.items.query<Doc>('SELECT * FROM c').fetchAll();
    for (const doc of resources)
      if (doc['by'] === 'days@1' || doc['projection'] === 'days@1' || doc['type'] === 'day')
        await container.item(String(doc['id']), doc[keyed] as string).delete();
  }
  expect((await days(stage, first)).size).toBe(0);
  const options = { settings, services, loaded, spec: first, ...FAST, signal, from: 'beginning', cold: true };
  await Promise.all([replay(options), sweep({ settings, services, loaded, signal, screen })]);
  expect(await hot(stage)).toBe(20);
  expect(await days(stage, first)).toEqual(expected(stage, first, orders));
});

it('nothing leaves a container that is being migrated', async () => {
  await using stage = await coldStage();
  const { settings, services, loaded } = stage;
  const sweeping = () => sweep({ settings, services, loaded, signal, screen });
  const app = await running(stage);
  for (const doc of orders) await stage.container('Orders').items.upsert(doc);
  await app.drained(signal);
  await app.stop();
  await services.place.database.containers.create({
    id: 'ByCustomer',
    partitionKey: { paths: ['/customerId'] },
    defaultTtl: -1,
  });
  const [source, target] = [stage.container('Orders'), stage.container('ByCustomer')];
  const ending = new AbortController();
  const move = { state: services.place.state, source, target, readLagMs: 0 };
  await migrate({ ...move, signal: ending.signal, progress: () => ending.abort() }).catch(() => undefined);
  expect(await sweeping()).toMatchObject([{ removed: 0 }]);
  await migrate({ ...move, signal });
  await migrate({ ...move, signal, rollback: true });
  expect(await sweeping()).toMatchObject([{ removed: 20 }]);
});
