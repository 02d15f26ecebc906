// docs/SPEC-tables.md, TAB-W2: what a verification of a part finds in tables, on PGlite.
import { table } from 'millrace';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Doc } from '../../../src/pipeline/specs.ts';
import { startPglite } from '../../../src/postgres/pglite.ts';
import { NO_PAGES, type Pages, verifyPages } from '../../../src/procedures/verify/verify-pages.ts';
import { type Verification, type VerifyOptions, verify } from '../../../src/procedures/verify/verify.ts';
import { migrateTables } from '../../../src/procedures/sql/migrate.ts';
import { askedTenant } from '../../../src/procedures/tenants/tenant-flag.ts';
import { type Database, openDatabase } from '../../../src/postgres/database.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { layoutsOf, withTables } from '../../../src/runtime/tables.ts';
import { tableSink } from '../../../src/access/tables/table-sink.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { ERASE } from '../tenants/leaving.ts';
import { fast } from '../../verbs/projections/versions.ts';
import { namesOf } from '../../support/names-of.ts';

const { signal } = new AbortController();
const screen = { progress: () => undefined };
const m = namesOf<{
  Orders: { order: Doc & { id: string; storeId: string; lines: { sku: string }[] } };
  Customers: { customer: Doc & { id: string; storeId: string } };
  Countries: { country: Doc & { id: string } };
}>();
let server: Awaited<ReturnType<typeof startPglite>>;
let database: Database;
let client: Client;
let stage: Stage;

beforeAll(async () => {
  server = await startPglite();
  database = openDatabase(server.url, { max: 1 });
  client = new Client(server.url);
  await client.connect();
  const opened = await openStage({}, ERASE);
  // An order isn't stored by its store, so it may move to another one. Countries belong to no store.
  const effects = [
    table('orders', { from: m.Orders.order, into: 'orders', children: { lines: { into: 'order_lines' } } }),
    table('customers', { from: m.Customers.customer, into: 'customers' }),
    table('countries', { from: m.Countries.country, into: 'countries' }),
  ];
  const { pipeline } = opened.loaded;
  const bare = { ...pipeline, projections: [], embeds: [], archives: [], effects };
  stage = { ...opened, loaded: withTables({ ...opened.loaded, pipeline: bare }, database) };
  await migrateTables(layoutsOf(stage.loaded), database, signal);
  for (let n = 0; n < 24; n++) {
    const storeId = `s${n % 3}`;
    await stage.container('Orders').items.upsert(order(n, storeId));
    await stage.container('Customers').items.upsert({ id: `c${n}`, type: 'customer', storeId, name: `n${n}` });
  }
  await stage.container('Countries').items.upsert({ id: 'AT', type: 'country', region: 'eu', name: 'Austria' });
  await applied();
  // It moves to another store.
  await stage.container('Orders').items.upsert(order(1, 's2'));
  await applied();
}, 60_000);
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
  await client?.end();
  await database?.close();
  await server?.[Symbol.asyncDispose]();
});

const order = (n: number, storeId: string): Doc & { id: string } => ({
  id: `o${n}`,
  type: 'order',
  storeId,
  customerId: `c${n % 4}`,
  placedAt: '2026-03-01T10:00:00.000Z',
  cents: n,
  lines: [{ sku: `a${n}` }, { sku: `b${n}` }],
});

async function applied(): Promise<void> {
  const app = await compose({ ...stage, ...fast, host: 'live' });
  await app.start();
  await app.drained(AbortSignal.timeout(60_000));
  await app.stop();
}

const look = (more: Partial<VerifyOptions> = {}): Promise<Verification> =>
  verify(stage.loaded, stage.services, { signal, screen, readLagMs: 0, settings: stage.settings, ...more });
const said = ({ differences }: Pick<Verification, 'differences'>): string[] =>
  differences.map(({ kind, container, document }) => `${kind} ${container} ${document}`).toSorted();

it('a verification of tables finds nothing in tables that no person changed', async () => {
  expect(await look()).toMatchObject({ different: 0, beyond: [] });
  expect(await look({ sample: '10000' })).toMatchObject({ different: 0, beyond: [] });
  expect(await look({ ofTenant: askedTenant(stage.loaded, 's1') })).toMatchObject({
    different: 0,
    // Without the order that moved to s2.
    documents: { expected: 7 + 8, found: 7 + 8 },
    beyond: [{ name: 'countries', why: expect.stringContaining('belong to no tenant') }],
  });
});

it('a verification of tables finds in a part what a verification of all finds there', async () => {
  for (const sql of [
    `UPDATE millrace.customers_v1 SET name = 'other' WHERE id = 'c1'`,
    `DELETE FROM millrace.customers_v1 WHERE id = 'c2'`,
    `INSERT INTO millrace.customers_v1 (store_id, id, name) VALUES ('s1', 'planted', 'x'), ('s9', 'planted', 'x')`,
    `UPDATE millrace.order_lines_v1 SET extra = '{"sku": "other"}' WHERE id = 'o4' AND position = 1`,
    `DELETE FROM millrace.orders_v1 WHERE id = 'o7'`,
    // It has no guard, and no document.
    `INSERT INTO millrace.orders_v1 (store_id, customer_id, id) VALUES ('s1', 'c1', 'planted')`,
    // A document that moved, with rows that stayed behind.
    `INSERT INTO millrace.orders_v1 (store_id, customer_id, id, cents) VALUES ('s1', 'c1', 'o1', 1)`,
    `UPDATE millrace.countries_v1 SET name = 'other'`,
  ])
    await client.query(sql);
  const whole = await look();
  expect(said(whole)).toEqual([
    'different countries eu|AT',
    'different customers s1|c1',
    'different orders c0|o4',
    'missing customers s2|c2',
    'missing orders c3|o7',
    'unexpected customers s1|planted',
    'unexpected customers s9|planted',
    'unexpected orders c1|o1',
    'unexpected orders c1|planted',
  ]);
  expect(said(await look({ sample: '10000' }))).toEqual(said(whole));

  const of = async (tenant: string): Promise<string[]> =>
    said(await look({ ofTenant: askedTenant(stage.loaded, tenant) }));
  expect(await of('s1')).toEqual([
    'different customers s1|c1',
    'different orders c0|o4',
    'missing orders c3|o7',
    'unexpected customers s1|planted',
    'unexpected orders c1|o1',
    'unexpected orders c1|planted',
  ]);
  expect(await of('s2')).toEqual(['missing customers s2|c2']);
  expect(await of('s0')).toEqual([]);

  // By the schedule: in pages, each of which may be the last one of a process.
  const steps: Pages[] = [];
  const pages = await verifyPages(stage.loaded, stage.services, {
    signal,
    screen,
    readLagMs: 0,
    settings: stage.settings,
    pageSize: 3,
    from: NO_PAGES,
    save: async (page) => void steps.push(page),
  });
  const documents = said(whole).map((one) => one.slice(one.indexOf(' ') + 1));
  expect(Object.keys(pages.differences).toSorted()).toEqual(documents.toSorted());
  const middle = steps.find(({ tables }) => Array.isArray(tables?.['orders@1']))!;
  const resumed = await verifyPages(stage.loaded, stage.services, {
    signal,
    screen,
    readLagMs: 0,
    settings: stage.settings,
    pageSize: 3,
    // As it is stored.
    from: JSON.parse(JSON.stringify(middle)) as Pages,
    save: async () => undefined,
  });
  expect(Object.keys(resumed.differences).toSorted()).toEqual(documents.toSorted());
});

it('a verification of tables repairs one tenant’s rows, and leaves those of others', async () => {
  const repaired = await look({ ofTenant: askedTenant(stage.loaded, 's2'), repair: true });
  expect(repaired).toMatchObject({ different: 0, repaired: { repaired: 1 } });
  expect(said(await look())).toHaveLength(8);
});

it('a verification of tables removes rows that were left with another tenant, also where the document’s own are missing or it is gone', async () => {
  await client.query(`DELETE FROM millrace.orders_v1 WHERE id = 'o5'`);
  for (const [store, id] of [
    ['s0', 'o5'],
    ['s1', 'o5'],
    ['s0', 'gone'],
    ['s1', 'gone'],
  ]) {
    await client.query(`INSERT INTO millrace.orders_v1 (store_id, customer_id, id) VALUES ('${store}', 'c1', '${id}')`);
    await client.query(
      `INSERT INTO millrace.order_lines_v1 (store_id, customer_id, id, position) VALUES ('${store}', 'c1', '${id}', 0)`,
    );
  }
  await client.query(`INSERT INTO millrace.orders_v1_guards (tenant, id, epoch, lsn, turn, etag)
SELECT 's2', replace(id, 'o1', 'gone'), epoch, lsn, turn, etag FROM millrace.orders_v1_guards WHERE id LIKE '%o1"%'`);
  expect(said(await look()).filter((one) => one.endsWith('c1|o5') || one.endsWith('c1|gone'))).toEqual([
    'missing orders c1|o5',
    'unexpected orders c1|gone',
    'unexpected orders c1|gone',
    'unexpected orders c1|o5',
    'unexpected orders c1|o5',
  ]);
  expect(await look({ repair: true })).toMatchObject({ different: 0 });
  const { rows } = await client.query(
    `SELECT store_id, id FROM millrace.orders_v1 WHERE id IN ('o1', 'o5', 'gone') ORDER BY id`,
  );
  expect(rows).toEqual([
    { store_id: 's2', id: 'o1' },
    { store_id: 's2', id: 'o5' },
  ]);
});

it('a verification of tables draws a sample of a large table without reading all of it', async () => {
  await client.query(
    `INSERT INTO millrace.customers_v1 (store_id, id) SELECT 's7', 'x' || n FROM generate_series(1, 20000) n`,
  );
  await client.query('ANALYZE millrace.customers_v1');
  const [, spec] = stage.loaded.pipeline.effects;
  const layout = layoutsOf(stage.loaded).find(({ projection }) => projection === spec?.name)!;
  let read = 0;
  const counting: Database = {
    ...database,
    transaction: (work, options) =>
      database.transaction(async (session) => {
        const tuples = async (): Promise<number> => {
          const sql = `SELECT pg_stat_get_xact_tuples_returned('millrace.customers_v1'::regclass) AS n`;
          return Number((await session.query(sql)).rows[0]?.['n']);
        };
        const before = await tuples();
        const result = await work(session);
        read += (await tuples()) - before;
        return result;
      }, options),
  };
  const draw = async (most: number): Promise<string[]> => {
    const found: string[] = [];
    for await (const { id } of tableSink({ layout, database: counting }).part!({ drawn: most }, signal)) found.push(id);
    return found;
  };
  const [once, again] = [await draw(20), await draw(20)];
  expect([once, again].map((some) => new Set(some).size)).toEqual([20, 20]);
  expect(once).not.toEqual(again);
  expect(read).toBeGreaterThan(0);
  expect(read).toBeLessThan(20_000);
  // Statistics that are too high: the whole table is read instead.
  await client.query(`DELETE FROM millrace.customers_v1 WHERE store_id = 's7'`);
  expect((await draw(20)).length).toBe(20);
});
