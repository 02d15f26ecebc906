// docs/SPEC-erase.md, ERASE-R8: the rows of a tenant in PostgreSQL, on PGlite.
import { table } from 'millrace';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Doc } from '../../../src/pipeline/specs.ts';
import { usePglite } from '../../support/pglite-stage.ts';
import { migrateTables } from '../../../src/procedures/sql/migrate.ts';
import { assertMayErase } from '../../../src/procedures/erase/erase-rights.ts';
import { searchEverything } from '../../../src/procedures/erase/erase-search.ts';
import { removeRows } from '../../../src/procedures/erase/erase-tables.ts';
import { type EraseOptions, erase } from '../../../src/procedures/erase/erase.ts';
import type { Database } from '../../../src/postgres/database.ts';
import { compose } from '../../../src/runtime/hosts/processor-host.ts';
import { layoutsOf, withTables } from '../../../src/runtime/tables.ts';
import { TableContents } from '../../../src/access/tables/table-contents.ts';
import { type Stage, openStage } from '../../support/stage.ts';
import { fast } from '../../verbs/projections/versions.ts';
import { ERASE, GONE, STAYS, documentsOf, eraseOptions } from '../tenants/leaving.ts';
import { namesOf } from '../../support/names-of.ts';

const { signal } = new AbortController();
const m = namesOf<{
  Orders: { order: Doc & { id: string; storeId: string; lines: { sku: string }[] } };
  Customers: { customer: Doc & { id: string; storeId: string } };
  Countries: { country: Doc & { id: string } };
}>();
const { database, client } = await usePglite();
let stage: Stage;

beforeEach(async () => {
  await client.query('DROP SCHEMA IF EXISTS millrace CASCADE');
  const opened = await openStage({}, ERASE);
  // Orders aren't stored by their store, so they may move to another one. Countries belong to no store.
  const effects = [
    table('orders', { from: m.Orders.order, into: 'orders', children: { lines: { into: 'order_lines' } } }),
    table('customers', {
      from: m.Customers.customer,
      into: 'customers',
      where: (doc) => doc['cancelled'] !== true,
    }),
    table('countries', { from: m.Countries.country, into: 'countries' }),
  ];
  const { pipeline } = opened.loaded;
  const bare = { ...pipeline, projections: [], embeds: [], archives: [], effects };
  stage = { ...opened, loaded: withTables({ ...opened.loaded, pipeline: bare }, database) };
  await migrateTables(layoutsOf(stage.loaded), database, signal);
  await fill();
});
afterEach(() => stage[Symbol.asyncDispose]());

const applied = async (): Promise<void> => {
  const app = await compose({ ...stage, ...fast, host: 'live' });
  await app.start();
  await app.drained(AbortSignal.timeout(60_000));
  await app.stop();
};

async function fill(): Promise<void> {
  const [orders, customers] = [stage.container('Orders'), stage.container('Customers')];
  await stage.container('Countries').items.upsert({ id: 'AT', type: 'country', region: 'eu', name: 'Austria' });
  for (const store of [GONE, STAYS])
    for (const [container, document] of documentsOf(store))
      await stage
        .container(container)
        .items.upsert({ ...document, ...(container === 'Orders' && { lines: [{ sku: `of ${store}` }] }) });
  const moved = { id: 'moves', type: 'order', customerId: 'c1', placedAt: '2026-03-01T00:00:00.000Z', cents: 1 };
  await orders.items.upsert({ ...moved, storeId: GONE, lines: [{ sku: 'a' }] });
  await customers.items.upsert({ id: 'deleted', type: 'customer', storeId: GONE, name: 'Gone before' });
  await applied();
  await orders.items.upsert({ ...moved, storeId: STAYS, lines: [{ sku: 'b' }] });
  await customers.items.upsert({
    id: 'deleted',
    type: 'customer',
    storeId: GONE,
    name: 'Gone',
    cancelled: true,
  });
  await customers.items.upsert({ id: 'friend', type: 'customer', storeId: STAYS, name: `Moved here from "${GONE}"` });
  await applied();
}

const tables = async (): Promise<string[]> => {
  const found = await client.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'millrace' AND tablename NOT IN ('contents', 'readers') ORDER BY 1`,
  );
  return found.rows.map(({ name }) => name);
};
/** Each row as text, by table. */
async function rows(): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const name of await tables()) {
    const { rows: all } = await client.query<{ row: string }>(
      `SELECT to_jsonb(t)::text AS row FROM millrace.${name} t ORDER BY 1`,
    );
    found.set(
      name,
      all.map(({ row }) => row),
    );
  }
  return found;
}
const naming = (all: ReadonlyMap<string, string[]>): string[] =>
  [...all.values()].flat().filter((row) => row.includes(GONE) && !row.includes('"friend"'));
const others = (all: ReadonlyMap<string, string[]>): [string, string[]][] =>
  [...all].map(([name, some]) => [
    name,
    // The guard of the order that moved named the store that it left.
    some
      .map((row) => row.replace(`"was": "${GONE}"`, '"was": null'))
      .filter((row) => !row.includes(GONE) || row.includes('"friend"')),
  ]);
const parts = async (more: Partial<EraseOptions> = {}): Promise<EraseOptions> => ({
  ...(await eraseOptions(stage)),
  tables: database,
  ...more,
});

it('an erasure removes the rows, children and guards of the tenant from every content, and no row of others', async () => {
  // A content that replaced the first one, and one that is being filled.
  const orders = layoutsOf(stage.loaded).find(({ projection }) => projection === 'orders')!;
  const contents = new TableContents(orders, database);
  for (const target of ['another', 'third']) {
    const content = await contents.open(target, signal);
    for (const end of ['', '_guards'])
      await client.query(`INSERT INTO millrace.orders_${content}${end} SELECT * FROM millrace.orders_v1${end}`);
  }
  await contents.swap('another', signal);
  const before = await rows();
  expect(before.get('order_lines_v1')).toHaveLength(17);
  expect(before.get('orders_v1_guards')!.filter((row) => row.includes(`"was": "${GONE}"`))).toHaveLength(1);
  const options = await parts();
  const { left, mentions } = await searchEverything({ ...options, held: new Set() });
  // Eight orders, and the guard of the one that moved.
  expect(left).toMatchObject({ 'millrace.orders_v1': 8, 'millrace.orders_v1_guards': 9, 'millrace.order_lines_v1': 8 });
  expect(mentions).toEqual({ Customers: 1, 'millrace.customers_v1': 1 });

  const certificate = await erase(options);
  const after = await rows();
  expect(naming(after)).toEqual([]);
  expect(others(after)).toEqual(others(before));
  expect(certificate.removed).toMatchObject({
    'millrace.orders_v1': 8,
    'millrace.order_lines_v1': 8,
    'millrace.orders_v1_guards': 8,
    'millrace.customers_v1': 2,
    'millrace.customers_v1_guards': 3,
  });
  expect(Object.keys(certificate.removed).filter((place) => place.startsWith('millrace.orders_v1_'))).toHaveLength(5);
  expect(certificate.mentions).toMatchObject({ 'millrace.customers_v1': 1 });
  expect(certificate.stays.map(({ what }) => what)).toContain('backups of the PostgreSQL server, and its log');
  expect(certificate.stays.map(({ what }) => what).join()).not.toContain('other systems');
});

it('an erasure that was killed before or after any statement and run again ends as if it had not been', async () => {
  const before = await rows();
  for (const name of before.keys())
    await client.query(`CREATE TABLE public.saved_${name} AS SELECT * FROM millrace.${name}`);
  const count = (): void => undefined;
  let ended = false;
  for (let nth = 1; !ended; nth++) {
    for (const name of before.keys()) await client.query(`DELETE FROM millrace.${name}`);
    // Orders before their lines.
    for (const name of [...before.keys()].toReversed())
      await client.query(`INSERT INTO millrace.${name} SELECT * FROM public.saved_${name}`);
    // Odd: it dies before the statement takes effect, even: after it.
    const options = await parts({ tables: dying(Math.ceil(nth / 2), nth % 2 === 1) });
    ended = await removeRows(count, options).then(
      () => true,
      () => false,
    );
    await removeRows(count, await parts());
    const after = await rows();
    expect(naming(after)).toEqual([]);
    expect(others(after)).toEqual(others(before));
  }
  for (const name of before.keys()) await client.query(`DROP TABLE public.saved_${name}`);
});

/** The process dies at the nth statement; the server rolls back what it has not committed. */
function dying(nth: number, early: boolean): Database {
  let left = nth;
  return {
    close: () => database.close(),
    transaction: async (work, options) => {
      const result = await database.transaction(
        (session) =>
          work({
            query: async (sql, values) => {
              left -= 1;
              if (left === 0 && early) throw new Error('killed');
              return session.query(sql, values);
            },
          }),
        options,
      );
      if (left <= 0) throw new Error('killed');
      return result;
    },
  };
}

it('an erasure begins nothing where the role may not delete rows, and leaves a table of another pipeline', async () => {
  await client.query(`CREATE TABLE millrace.tickets_v1 (store_id text, id text, PRIMARY KEY (store_id, id))`);
  await client.query(`INSERT INTO millrace.tickets_v1 VALUES ($1, 't')`, [GONE]);
  await client.query(
    `CREATE ROLE weak; GRANT USAGE ON SCHEMA millrace TO weak; GRANT SELECT ON ALL TABLES IN SCHEMA millrace TO weak`,
  );
  const weak: Database = {
    close: () => database.close(),
    transaction: (work, options) => database.transaction(work, { ...options, first: 'SET LOCAL ROLE weak' }),
  };
  await expect(assertMayErase(await parts({ tables: weak }))).rejects.toMatchObject({
    code: 'erase-denied',
    message: expect.stringContaining('millrace.'),
  });
  await assertMayErase(await parts());
  const certificate = await erase(await parts());
  expect(certificate.mentions).toMatchObject({ 'millrace.tickets_v1': 1 });
  expect((await rows()).get('tickets_v1')).toHaveLength(1);
  await client.query('DROP OWNED BY weak; DROP ROLE weak');
});
