// Tables by the whole way: hosts, verify, repair, rebuild and promotion, on PGlite.
import { table } from 'millrace';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { projectionId, type TableSpec } from '../../../src/pipeline/specs.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { usePglite } from '../../support/pglite-stage.ts';
import { type SinkSpec, chooseRebuilt } from '../../../src/procedures/projections/choose.ts';
import { backTables, keptTables } from '../../../src/procedures/promote/back-tables.ts';
import { dropTarget, rebuildSink, swapSink } from '../../../src/procedures/rebuild/rebuild-sink.ts';
import { verify } from '../../../src/procedures/verify/verify.ts';
import { cleanTables } from '../../../src/verbs/sql/clean.operation.ts';
import { migrateTables } from '../../../src/procedures/sql/migrate.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { layoutsOf, withTables } from '../../../src/runtime/tables.ts';
import type { LoadedPipeline } from '../../../src/runtime/workspace.ts';
import { m } from '../../fixtures/shop/model.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { declaring } from '../../verbs/projections/shelves.ts';
import { VIEWS_REFRESH_MS, fast } from '../../verbs/projections/versions.ts';

const { signal } = new AbortController();
let stage: Stage;
const { database, client } = await usePglite();

beforeEach(async () => {
  stage = await openStage();
  await client.query('DROP SCHEMA IF EXISTS millrace CASCADE');
});
afterEach(() => stage[Symbol.asyncDispose]());

const orders = (version = 1): TableSpec =>
  table('orders', {
    from: m.Orders.order,
    into: 'orders',
    version,
    ...(version > 1 && { columns: { cents: { name: 'amount_cents' } } }),
  });

/** The pipeline with these tables, which exist. */
async function declared(...specs: TableSpec[]): Promise<LoadedPipeline> {
  const loaded = withTables(declaring(stage, { effects: specs }), database);
  await migrateTables(layoutsOf(loaded), database, signal);
  return loaded;
}

async function applied(loaded: LoadedPipeline): Promise<void> {
  const app = await compose({ ...stage, ...fast, loaded, host: 'live' });
  await app.start();
  await app.drained(signal);
  await app.stop();
}

const write = (id: string, cents: number, more: object = {}) =>
  stage.container('Orders').items.upsert({
    id,
    type: 'order',
    storeId: `s${cents % 3}`,
    customerId: 'c1',
    placedAt: '2026-01-01T10:00:00.000Z',
    cents,
    ...more,
  });
const query = async (sql: string) => (await client.query<Record<string, unknown>>(sql)).rows;
const verified = (loaded: LoadedPipeline, repair = false) =>
  verify(loaded, stage.services, {
    signal,
    screen: { progress: () => undefined },
    readLagMs: 0,
    repair,
    settings: stage.settings,
  });
const optionsOf = (loaded: LoadedPipeline, name: string) => ({
  settings: stage.settings,
  services: stage.services,
  loaded,
  spec: chooseRebuilt(loaded.pipeline, name) as SinkSpec,
  readLagMs: 0,
  viewsRefreshMs: VIEWS_REFRESH_MS,
  timings: { pollMs: 40, acquireMs: 100, stopMs: 300 },
  signal,
});

it('a verification finds and repairs rows that were changed, removed or added by hand, and rows without a guard', async () => {
  for (let n = 0; n < 12; n++) await write(`o${n}`, n);
  await write('o1', 4, { cancelled: true });
  const loaded = await declared(orders());
  await applied(loaded);
  expect(await query('SELECT count(*)::int AS n, sum(cents)::int AS cents FROM orders')).toEqual([
    { n: 11, cents: 65 },
  ]);
  expect(await verified(loaded)).toMatchObject({ different: 0 });
  await client.query(`UPDATE millrace.orders_v1 SET cents = 999 WHERE id = 'o2'`);
  await client.query(`DELETE FROM millrace.orders_v1 WHERE id = 'o3'`);
  await client.query(`DELETE FROM millrace.orders_v1_guards WHERE id LIKE '%o4'`);
  await client.query(
    `INSERT INTO millrace.orders_v1 (store_id, id, cents) VALUES ('s1', 'planted', 5), ('s9', 'planted', 6)`,
  );
  expect(await verified(loaded)).toMatchObject({ different: 4 });
  expect(await verified(loaded, true)).toMatchObject({ different: 0, repaired: { repaired: 4 } });
  expect(await query('SELECT count(*)::int AS n, sum(cents)::int AS cents FROM orders')).toEqual([
    { n: 11, cents: 65 },
  ]);
});

it('a table parks a value that its column doesn’t hold, with the path, and goes on with the others', async () => {
  const loaded = await declared(orders());
  await write('o1', 1);
  await write('o2', 0, { cents: 2 ** 60 });
  await write('o3', 3);
  await applied(loaded);
  expect(await query('SELECT id FROM orders ORDER BY id')).toEqual([{ id: 'o1' }, { id: 'o3' }]);
  const letters = await new DeadLetters(stage.services.place.state).list('orders@1');
  expect(letters).toMatchObject([{ id: 'o2', code: 'table-value', message: expect.stringMatching(/^\/cents /) }]);
  expect(await verified(loaded)).toMatchObject({ different: 0 });
});

it('a rebuild of a table fills another version beside the one that readers see, and switches to it', async () => {
  for (let n = 0; n < 9; n++) await write(`o${n}`, n);
  await applied(await declared(orders()));
  const both = await declared(orders(), orders(2));
  const next = both.pipeline.effects[1];
  expect(next && projectionId(next)).toBe('orders@2');
  const rebuilt = await rebuildSink(optionsOf(both, 'orders@2'));
  expect(rebuilt).toMatchObject({ projection: 'orders@2', changes: 9, parked: 0 });
  expect(await query('SELECT sum(cents)::int AS cents FROM orders')).toEqual([{ cents: 36 }]);
  await write('o9', 64);
  await applied(both);
  await swapSink(optionsOf(both, 'orders@2'));
  expect(await query('SELECT sum(amount_cents)::int AS cents FROM orders')).toEqual([{ cents: 100 }]);
  await write('o1', 1, { cents: 11 });
  await applied(both);
  expect(await query('SELECT sum(amount_cents)::int AS cents FROM orders')).toEqual([{ cents: 110 }]);
  expect(await verified(both)).toMatchObject({ different: 0 });
});

it('a promotion back lets readers go back to what they had, which hosts have written too, and there again', async () => {
  for (let n = 0; n < 3; n++) await write(`o${n}`, n);
  const loaded = await declared(orders());
  await applied(loaded);
  await rebuildSink(optionsOf(loaded, 'orders'));
  expect(await swapSink({ ...optionsOf(loaded, 'orders'), keepMs: 3_600_000 })).toMatchObject({
    previous: 'orders@1',
    keptUntil: expect.stringMatching(/Z$/),
  });
  await write('o3', 30);
  await applied(loaded);
  // Someone has changed what readers see: what they had before hasn't it.
  await client.query(`UPDATE orders SET cents = cents + 1000`);
  expect(await query('SELECT sum(cents)::int AS cents FROM orders')).toEqual([{ cents: 4033 }]);
  expect((await cleanTables(layoutsOf(loaded), database, signal)).dropped).toEqual([]);
  const back = async (of: LoadedPipeline, name: string, keepMs = 3_600_000) =>
    backTables({ ...optionsOf(of, name), spec: await keptTables(of.pipeline, name, signal), keepMs });
  expect(await back(loaded, 'orders')).toMatchObject({ container: 'v1', previous: 'orders@1', heldMs: 0 });
  expect(await query('SELECT sum(cents)::int AS cents FROM orders')).toEqual([{ cents: 33 }]);
  await write('o4', 400);
  await applied(loaded);
  await back(loaded, 'orders', 0);
  expect(await query('SELECT sum(cents)::int AS cents FROM orders')).toEqual([{ cents: 4433 }]);
  await expect(back(loaded, 'orders')).rejects.toMatchObject({ code: 'no-way-back' });
  expect((await cleanTables(layoutsOf(loaded), database, signal)).dropped).toHaveLength(1);
});

it('a promotion back lets readers go back to the version before, while the pipeline declares it', async () => {
  await write('o1', 1);
  await applied(await declared(orders()));
  const both = await declared(orders(), orders(2));
  await rebuildSink(optionsOf(both, 'orders@2'));
  await swapSink({ ...optionsOf(both, 'orders@2'), keepMs: 3_600_000 });
  await write('o2', 20);
  await applied(both);
  expect(await query('SELECT sum(amount_cents)::int AS cents FROM orders')).toEqual([{ cents: 21 }]);
  await expect(keptTables(both.pipeline, 'orders@2', signal)).rejects.toMatchObject({ code: 'no-way-back' });
  const second = withTables(declaring(stage, { effects: [orders(2)] }), database);
  await expect(keptTables(second.pipeline, 'orders', signal)).rejects.toMatchObject({
    message: expect.stringContaining('no longer declares orders@1'),
  });
  const spec = await keptTables(both.pipeline, 'orders@1', signal);
  await backTables({ ...optionsOf(both, 'orders'), spec, keepMs: 3_600_000 });
  expect(await query('SELECT sum(cents)::int AS cents FROM orders')).toEqual([{ cents: 21 }]);
  expect(await verified(both)).toMatchObject({ different: 0 });
});

it('a drop gives a rebuild up, with its tables', async () => {
  await write('o1', 1);
  const loaded = await declared(orders());
  await applied(loaded);
  await rebuildSink(optionsOf(loaded, 'orders'));
  const tables = async () => (await query(`SELECT 1 FROM pg_tables WHERE schemaname = 'millrace'`)).length;
  expect(await tables()).toBe(6);
  await dropTarget(optionsOf(loaded, 'orders'));
  expect(await tables()).toBe(4);
});

it('`sql clean` drops what was replaced, or is of a version that is no longer declared, and nothing that is read or written', async () => {
  for (let n = 0; n < 6; n++) await write(`o${n}`, n);
  const loaded = await declared(orders());
  await applied(loaded);
  const clean = async (of: LoadedPipeline): Promise<readonly string[]> =>
    (await cleanTables(layoutsOf(of), database, signal)).dropped;
  expect(await clean(loaded)).toEqual([]);
  await rebuildSink(optionsOf(loaded, 'orders'));
  // What is being filled stays.
  expect(await clean(loaded)).toEqual([]);
  await swapSink(optionsOf(loaded, 'orders'));
  await client.query('CREATE VIEW own AS SELECT * FROM millrace.orders_v1');
  await expect(clean(loaded)).rejects.toMatchObject({
    code: 'tables-view-used',
    message: expect.stringContaining('own'),
  });
  await client.query('DROP VIEW own');
  expect(await clean(loaded)).toEqual([expect.stringMatching(/^millrace.orders_v1, .* of orders@1 \(replaced\)$/)]);
  expect(await query('SELECT sum(cents)::int AS cents FROM orders')).toEqual([{ cents: 15 }]);
  const both = await declared(orders(), orders(2));
  expect(await clean(both)).toEqual([]);
  // Readers have version 1, so it stays though only version 2 is declared.
  const second = withTables(declaring(stage, { effects: [orders(2)] }), database);
  expect(await clean(second)).toEqual([]);
  await rebuildSink(optionsOf(both, 'orders@2'));
  await swapSink(optionsOf(both, 'orders@2'));
  // A pipeline that knows only version 1 drops nothing of a higher one but what was replaced.
  const first = withTables(declaring(stage, { effects: [orders()] }), database);
  expect(await clean(first)).toEqual([expect.stringContaining('of orders@2 (replaced)')]);
  expect(await clean(second)).toEqual([expect.stringContaining('of orders@1 (no longer declared)')]);
  expect(await query('SELECT sum(amount_cents)::int AS cents FROM orders')).toEqual([{ cents: 15 }]);
  expect(await verified(second)).toMatchObject({ different: 0 });
});
