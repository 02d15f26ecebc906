// Rows that wait for one another (docs/SPEC-tables.md, TAB-J1 to TAB-J6). On PGlite.
import { beforeEach, expect, it } from 'vitest';
import type { Doc } from '../../../src/definition/specs.ts';
import type { TableLayout } from '../../../src/definition/tables/layout.ts';
import { usePglite } from '../../support/pglite-stage.ts';
import { cleanTables } from '../../../src/operations/sql/clean.operation.ts';
import { migrateTables } from '../../../src/operations/sql/migrate.ts';
import { tableFaults } from '../../../src/sinks/tables/faults.ts';
import { tableSink } from '../../../src/sinks/tables/table-sink.ts';
import { removeTenantRows } from '../../../src/sinks/tables/tenant-rows.ts';
import { CUSTOMERS, LAYOUTS, ORDERS, SHIPMENTS, entryOf } from './waiting-shop.ts';

const { signal } = new AbortController();
const { database, client } = await usePglite();
let lsn = 0;

beforeEach(async () => {
  await client.query('DROP SCHEMA IF EXISTS millrace CASCADE');
  await migrateTables(LAYOUTS, database, signal);
});

const customer = (id: string, address: string | null = null): Doc => ({ id, tenant: 't', type: 'customer', address });
const order = (id: string, customerId: string | null, number: number): Doc => ({
  id,
  tenant: 't',
  type: 'order',
  customerId,
  number,
  lines: [{ sku: `${id}-a` }, { sku: `${id}-b` }],
});
const shipment = (id: string, orderId: string): Doc => ({ id, tenant: 't', type: 'shipment', orderId });

type Given = Doc | string;
const entries = (layout: TableLayout, given: readonly Given[]) =>
  given.map((one) => {
    const [id, doc] = typeof one === 'string' ? [one, null] : [String(one['id']), one];
    return entryOf({ layout, id, doc, lsn: (lsn += 1) }, 't');
  });
/** A text is the id of a document that was deleted. */
const write = (layout: TableLayout, ...given: readonly Given[]): Promise<void> =>
  tableSink({ layout, database }).write(entries(layout, given), signal);
const ids = async (name: string): Promise<string> =>
  (await client.query<{ id: string }>(`SELECT id FROM ${name} ORDER BY id`)).rows.map(({ id }) => id).join(' ');
const shown = async (): Promise<string[]> => [await ids('customers'), await ids('orders'), await ids('shipments')];

async function promote(layout: TableLayout, target: string, given: readonly Given[], keepMs = 0): Promise<void> {
  const sink = tableSink({ layout, database });
  const own = await sink.rebuild?.open(target, signal);
  await own?.write(entries(layout, given), signal);
  await sink.rebuild?.swap(target, signal, keepMs);
}

it('shows a row when its other document comes, and lets it wait when that one goes, and so on', async () => {
  await write(SHIPMENTS, shipment('s1', 'o1'));
  await write(ORDERS, order('o1', 'c1', 1), order('o2', null, 2));
  expect(await shown()).toEqual(['', 'o2', '']);
  await write(CUSTOMERS, customer('c1'));
  expect(await shown()).toEqual(['c1', 'o1 o2', 's1']);
  expect((await client.query(`SELECT sku FROM order_lines WHERE id = 'o1' ORDER BY 1`)).rows).toEqual([
    { sku: 'o1-a' },
    { sku: 'o1-b' },
  ]);
  await write(CUSTOMERS, 'c1');
  expect(await shown()).toEqual(['', 'o2', '']);
  // A row that waits is replaced and removed as any other one.
  await write(ORDERS, order('o1', null, 7));
  expect(await shown()).toEqual(['', 'o1 o2', 's1']);
  await write(ORDERS, order('o1', 'c1', 7));
  await write(ORDERS, 'o1');
  await write(CUSTOMERS, customer('c1'));
  expect(await shown()).toEqual(['c1', 'o2', '']);
});

it('gives a value to one document at a time, also where two change places in one page', async () => {
  await write(CUSTOMERS, customer('c1', 'x'), customer('c2', 'y'), customer('c3', 'x'));
  await write(ORDERS, order('o1', 'c3', 1), order('o2', 'c1', 2));
  expect(await shown()).toEqual(['c1 c2', 'o2', '']);
  await write(CUSTOMERS, customer('c1', 'y'), customer('c2', 'x'));
  expect(await shown()).toEqual(['c1 c2', 'o2', '']);
  await write(CUSTOMERS, customer('c2', null));
  expect(await shown()).toEqual(['c1 c2 c3', 'o1 o2', '']);
});

it('lets the server itself refuse what breaks a rule', async () => {
  await write(CUSTOMERS, customer('c1', 'x'));
  const insert = (table: string, columns: string, values: string) =>
    client.query(`INSERT INTO millrace.${table} (tenant, id, ${columns}) VALUES ('t', 'z', ${values})`);
  await expect(insert('orders_v1', 'customer_id, number', `'none', 9`)).rejects.toMatchObject({ code: '23503' });
  await expect(insert('customers_v1', 'address', `'x'`)).rejects.toMatchObject({ code: '23505' });
});

it('lets wait at its promotion what a filled content has that breaks a rule', async () => {
  await write(CUSTOMERS, customer('c1'));
  await write(ORDERS, order('o1', 'c1', 1));
  await write(SHIPMENTS, shipment('s1', 'o1'), shipment('s2', 'o2'), shipment('s3', 'o3'));
  const filled = [order('o1', 'c1', 1), order('o2', 'c2', 1), order('o3', 'c1', 1), order('o4', null, 4)];
  await promote(ORDERS, 'orders-1-a', filled);
  expect(await shown()).toEqual(['c1', 'o1 o4', 's1']);
  await write(CUSTOMERS, customer('c2'));
  await write(ORDERS, 'o1');
  expect(await shown()).toEqual(['c1 c2', 'o2 o4', 's2']);
  expect(await tableFaults(ORDERS, database, signal)).toEqual([]);
  expect(await tableFaults(SHIPMENTS, database, signal)).toEqual([]);
  expect((await cleanTables(LAYOUTS, database, signal)).dropped).toHaveLength(1);
});

it('writes what is kept without the rules, and has them again when readers go back to it', async () => {
  await write(CUSTOMERS, customer('c1'));
  await write(ORDERS, order('o1', 'c1', 1), order('o2', 'c2', 2));
  await promote(ORDERS, 'orders-1-a', [order('o1', 'c1', 1), order('o2', 'c2', 2)], 60_000);
  expect(await ids('millrace.orders_v1')).toBe('o1 o2');
  await write(ORDERS, order('o3', 'c2', 3), order('o1', null, 5));
  expect(await ids('millrace.orders_v1')).toBe('o1 o2 o3');
  expect(await tableSink({ layout: ORDERS, database }).back?.(signal, 60_000)).toBe('v1');
  expect(await shown()).toEqual(['c1', 'o1', '']);
  await write(CUSTOMERS, customer('c2'));
  expect(await shown()).toEqual(['c1 c2', 'o1 o2 o3', '']);
  expect(await tableFaults(ORDERS, database, signal)).toEqual([]);
});

it('leads foreign keys to what readers get of the other table, and drops what they had', async () => {
  await write(CUSTOMERS, customer('c1'), customer('c2'));
  await write(ORDERS, order('o1', 'c1', 1), order('o2', 'c2', 2), order('o3', 'c3', 3));
  await promote(CUSTOMERS, 'customers-1-a', [customer('c2'), customer('c3')]);
  expect(await shown()).toEqual(['c2 c3', 'o2 o3', '']);
  expect((await cleanTables(LAYOUTS, database, signal)).dropped).toHaveLength(1);
  await write(CUSTOMERS, customer('c1'), 'c3');
  expect(await shown()).toEqual(['c1 c2', 'o1 o2', '']);
});

it('reads rows that wait for a reason, so that a verification finds those that wait without one', async () => {
  await write(CUSTOMERS, customer('c1'));
  await write(ORDERS, order('o1', 'c1', 1), order('o2', 'c2', 2));
  const stored = async (): Promise<unknown[]> => {
    const found = [];
    for await (const { id, row } of tableSink({ layout: ORDERS, database }).rows?.(signal) ?? [])
      found.push({ id, row });
    return found;
  };
  const wanted = entries(ORDERS, [order('o1', 'c1', 1), order('o2', 'c2', 2)]).map(({ id, row }) => ({ id, row }));
  expect(await stored()).toEqual(wanted);
  await client.query(`INSERT INTO millrace.customers_v1 (tenant, id) VALUES ('t', 'c2')`);
  expect(await stored()).toEqual(wanted.slice(0, 1));
});

it('names a constraint that someone dropped', async () => {
  expect(await tableFaults(ORDERS, database, signal)).toEqual([]);
  await client.query('ALTER TABLE millrace.orders_v1 DROP CONSTRAINT orders_v1_f1');
  expect(await tableFaults(ORDERS, database, signal)).toEqual([
    { what: expect.stringContaining('orders_v1_f1'), hint: expect.stringContaining('rebuild orders') },
  ]);
});

it('removes the rows of a tenant from those that name others to those that are named', async () => {
  await write(CUSTOMERS, customer('c1'));
  await write(ORDERS, order('o1', 'c1', 1), order('o2', 'c2', 2));
  await write(SHIPMENTS, shipment('s1', 'o1'));
  const counted = new Map<string, number>();
  const options = { database, projections: ['customers', 'orders', 'shipments'], tenant: 't', signal };
  await removeTenantRows(options, (table, rows) => counted.set(table, rows));
  expect(await shown()).toEqual(['', '', '']);
  expect(counted.get('millrace.orders_v1_waits')).toBe(1);
});

it('drops undeclared tables that are named, with their views, those that name others first', async () => {
  await write(CUSTOMERS, customer('c1'));
  await write(ORDERS, order('o1', 'c1', 1));
  await client.query('CREATE TABLE millrace.mine (id text PRIMARY KEY)');
  const clean = (undeclared?: string) => cleanTables([CUSTOMERS], database, signal, undeclared);
  // It may be another pipeline's, so nothing goes unless it is named.
  expect(await clean()).toEqual({
    dropped: [],
    left: [expect.stringContaining('--undeclared shipments'), expect.stringContaining('--undeclared orders')],
  });
  await expect(clean('customers')).rejects.toMatchObject({ code: 'projection-unknown' });
  // Shipments still name orders.
  await expect(clean('orders')).rejects.toMatchObject({ code: 'tables-view-used' });
  expect((await clean('shipments')).dropped).toEqual([expect.stringContaining('of shipments@1 (no longer declared)')]);
  await client.query('CREATE VIEW own AS SELECT id FROM orders');
  await expect(clean('orders')).rejects.toMatchObject({
    code: 'tables-view-used',
    message: expect.stringContaining('own'),
  });
  await client.query('DROP VIEW own');
  expect(await clean('orders')).toMatchObject({ dropped: [expect.stringContaining('of orders@1')], left: [] });
  const listed = `SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE relkind IN ('r', 'v') AND nspname IN ('millrace', 'public') ORDER BY relname`;
  expect((await client.query(listed)).rows.map((row) => (row as { relname: string }).relname)).toEqual([
    'contents',
    'customers',
    'customers_v1',
    'customers_v1_guards',
    'customers_v1_waits',
    'mine',
    'readers',
  ]);
  await write(CUSTOMERS, customer('c2'));
  expect(await ids('customers')).toBe('c1 c2');
});
