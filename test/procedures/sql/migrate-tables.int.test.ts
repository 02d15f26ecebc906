// The tables of a database that has older ones, on PGlite: nothing here needs two sessions.
import { table } from 'millrace';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { layoutOf } from '../../../src/pipeline/tables/layout.ts';
import { startPglite } from '../../../src/postgres/pglite.ts';
import type { Model } from '../../../src/model/model.ts';
import { typeOfExamples } from '../../support/type-of-examples.ts';
import { migrateTables } from '../../../src/procedures/sql/migrate.ts';
import { readOrphans, sayOrphans } from '../../../src/procedures/verify/orphans.ts';
import { type Database, openDatabase } from '../../../src/postgres/database.ts';
import { namesOf } from '../../support/names-of.ts';

interface Order {
  id: string;
  storeId: string;
  cents: number;
  customerId?: string;
  lines?: { sku: string }[];
}
interface Customer {
  id: string;
  storeId: string;
}
const at = { file: 'm.md', line: 1 };
const modelOf = (order: object): Model => ({
  title: 'Shop',
  file: 'm.md',
  findings: [],
  containers: [['Orders', 'order', order] as const, ['Customers', 'customer', { id: 'c', storeId: 's' }] as const].map(
    ([name, type, example]) => ({
      name,
      partitionKey: ['/storeId'],
      types: [typeOfExamples(type, [{ ...example, type }], at)],
      at,
      places: {},
    }),
  ),
});
const m = namesOf<{ Orders: { order: Order }; Customers: { customer: Customer } }>();
const PIPELINE = { tenant: 'storeId', sources: [] };
const ORDER = { id: 'o', storeId: 's', cents: 1 };
const layout = (example: object = ORDER, options: object = {}) =>
  layoutOf(table('orders', { from: m.Orders.order, into: 'orders', ...options } as never), PIPELINE, modelOf(example));
const signal = new AbortController().signal;

describe('sql migrate', () => {
  let server: Awaited<ReturnType<typeof startPglite>>;
  let client: Client;
  let database: Database;
  beforeAll(async () => {
    server = await startPglite();
    database = openDatabase(server.url, { max: 1 });
    client = new Client(server.url);
    await client.connect();
  });
  afterAll(async () => {
    await database.close();
    await client.end();
    await server[Symbol.asyncDispose]();
  });
  beforeEach(() => client.query('DROP SCHEMA IF EXISTS millrace CASCADE'));
  const columns = async (name: string): Promise<string[]> =>
    (
      await client.query<{ attname: string }>(
        `SELECT attname FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 ORDER BY attnum`,
        [name],
      )
    ).rows.map(({ attname }) => attname);

  it('`sql migrate` creates what is missing, and does nothing the second time', async () => {
    expect(await migrateTables([layout()], database, signal)).toEqual([
      'create the schema millrace',
      'create millrace.orders_v1',
      'create the view orders',
    ]);
    expect(await migrateTables([layout()], database, signal)).toEqual([]);
    expect(await migrateTables([], database, signal)).toEqual([]);
  });

  it('`sql migrate` adds columns and lists in place, in the views too, and leaves what it doesn’t know', async () => {
    await migrateTables([layout()], database, signal);
    await client.query(`INSERT INTO millrace.orders_v1 (store_id, id, cents) VALUES ('s', 'o', 1)`);
    await client.query('ALTER TABLE millrace.orders_v1 ADD COLUMN mine text');
    const next = layout(
      { ...ORDER, area: 'a', lines: [{ sku: 'x' }] },
      { children: { lines: { into: 'order_lines' } } },
    );
    expect(await migrateTables([next], database, signal)).toEqual([
      expect.stringContaining('add area to millrace.orders_v1'),
      expect.stringContaining('create millrace.order_lines_v1'),
      'show area in the view orders',
      expect.stringContaining('in the view order_lines'),
    ]);
    expect(await columns('orders')).toEqual(['store_id', 'id', 'cents', 'extra', 'area']);
    expect(await columns('order_lines')).toEqual(['store_id', 'id', 'position', 'sku', 'extra']);
    expect((await client.query('SELECT id, area FROM orders')).rows).toEqual([{ id: 'o', area: null }]);
    expect(await migrateTables([next], database, signal)).toEqual([]);
  });

  it('`sql migrate` refuses another type and a table that somebody dropped, and changes nothing', async () => {
    await migrateTables([layout()], database, signal);
    await expect(migrateTables([layout({ ...ORDER, cents: 'x', area: 'a' })], database, signal)).rejects.toMatchObject({
      code: 'tables-differ',
      message: expect.stringContaining('millrace.orders_v1.cents is bigint'),
    });
    expect(await columns('orders')).not.toContain('area');
    await client.query('DROP TABLE millrace.orders_v1 CASCADE');
    await expect(migrateTables([layout()], database, signal)).rejects.toMatchObject({ code: 'tables-differ' });
  });

  it('`sql migrate` reports rows whose other document is missing', async () => {
    const shop = modelOf({ ...ORDER, customerId: 'c' });
    const specs = [
      table('orders', {
        from: m.Orders.order,
        into: 'orders',
        references: { customer: { of: m.Customers.customer, on: { id: 'customerId' } } },
      }),
      table('customers', { from: m.Customers.customer, into: 'customers' }),
    ];
    const layouts = specs.map((spec) => layoutOf(spec, PIPELINE, shop));
    await migrateTables(layouts, database, signal);
    await client.query(`INSERT INTO millrace.customers_v1 (store_id, id) VALUES ('s', 'c')`);
    await client.query(
      `INSERT INTO millrace.orders_v1 (store_id, id, customer_id) VALUES ('s', '1', 'c'), ('t', '2', 'c'), ('s', '3', NULL)`,
    );
    const read = (only?: string) =>
      readOrphans({ pipeline: { ...PIPELINE, effects: specs }, model: shop }, () => database, { only, signal });
    const found = await read();
    expect(found).toEqual([
      {
        table: 'orders',
        reference: 'customer',
        to: 'customers',
        count: 1,
        rows: [{ store_id: 't', id: '2', customer_id: 'c' }],
      },
    ]);
    expect(sayOrphans(found)).toEqual([
      '  orphans: 1 row of orders names a document that has no row in customers, such as {"store_id":"t","id":"2","customer_id":"c"}',
    ]);
    expect(await read('orders@1')).toEqual(found);
    expect(await read('customers')).toEqual([]);
  });
});
