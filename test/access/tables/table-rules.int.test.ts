// References and unique values (docs/SPEC-tables.md, TAB-J7 and TAB-J8). On PGlite, which is PostgreSQL 18.
import { beforeEach, expect, it } from 'vitest';
import { entryId } from '../../../src/pipeline/derived-ids.ts';
import type { Doc } from '../../../src/pipeline/specs.ts';
import type { TableLayout } from '../../../src/pipeline/tables/layout.ts';
import { usePglite } from '../../support/pglite-stage.ts';
import { cleanTables } from '../../../src/verbs/sql/clean.operation.ts';
import { migrateTables } from '../../../src/procedures/sql/migrate.ts';
import { tableFaults } from '../../../src/access/tables/table-faults.ts';
import { tableSink } from '../../../src/access/tables/table-sink.ts';
import { removeTenantRows } from '../../../src/access/tables/remove-tenant-rows.ts';
import { CUSTOMERS, LAYOUTS, ORDERS, SHIPMENTS, entryOf } from './referring-shop.ts';

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
/** The foreign keys between documents, as PostgreSQL writes them. */
const keys = async (): Promise<string[]> => {
  const { rows } = await client.query<{ definition: string }>(
    `SELECT conrelid::regclass || ' ' || pg_get_constraintdef(oid) AS definition FROM pg_constraint
WHERE contype = 'f' AND NOT conenforced ORDER BY 1`,
  );
  return rows.map(({ definition }) => definition);
};
const ids = async (name: string): Promise<string> =>
  (await client.query<{ id: string }>(`SELECT id FROM ${name} ORDER BY id`)).rows.map(({ id }) => id).join(' ');
const shown = async (): Promise<string[]> => [await ids('customers'), await ids('orders'), await ids('shipments')];

async function promote(layout: TableLayout, target: string, given: readonly Given[], keepMs = 0): Promise<void> {
  const sink = tableSink({ layout, database });
  const own = await sink.rebuild?.open(target, signal);
  await own?.write(entries(layout, given), signal);
  await sink.rebuild?.swap(target, signal, keepMs);
}

it('a table shows rows whose other document is missing: foreign keys are declared, and not enforced', async () => {
  expect(await keys()).toEqual([
    'millrace.orders_v1 FOREIGN KEY (tenant, customer_id) REFERENCES millrace.customers_v1(tenant, id) NOT ENFORCED',
    'millrace.shipments_v1 FOREIGN KEY (tenant, order_id) REFERENCES millrace.orders_v1(tenant, id) NOT ENFORCED',
  ]);
  await write(SHIPMENTS, shipment('s1', 'o1'));
  await write(ORDERS, order('o1', 'c1', 1), order('o2', null, 2));
  expect(await shown()).toEqual(['', 'o1 o2', 's1']);
  await write(CUSTOMERS, customer('c1'));
  await write(CUSTOMERS, 'c1');
  expect(await shown()).toEqual(['', 'o1 o2', 's1']);
  expect(await migrateTables(LAYOUTS, database, signal)).toEqual([]);
});

it('a table declares a reference that is added, once readers have the other table', async () => {
  await client.query('DROP SCHEMA millrace CASCADE');
  await migrateTables([CUSTOMERS, { ...ORDERS, foreignKeys: [], references: [] }], database, signal);
  expect(await keys()).toEqual([]);
  expect(await migrateTables([CUSTOMERS, ORDERS], database, signal)).toEqual([
    'declare the references customer of millrace.orders_v1, not enforced',
  ]);
  expect(await keys()).toHaveLength(1);
});

it('a table refuses a document whose unique value another one has, and no other of its page', async () => {
  await write(CUSTOMERS, customer('c1', 'x'), customer('c2', 'y'));
  const refused = write(
    CUSTOMERS,
    customer('c3', 'x'),
    customer('c4', 'z'),
    customer('c5', null),
    customer('c6', null),
  );
  await expect(refused).rejects.toMatchObject({
    refused: new Map([[entryId(['t'], 'c3'), expect.stringContaining('customers_v1_u1')]]),
  });
  expect(await shown()).toEqual(['c1 c2 c4 c5 c6', '', '']);
  // One that was refused can be written once the value is free.
  await write(CUSTOMERS, customer('c1', 'w'), customer('c3', 'x'));
  expect(await shown()).toEqual(['c1 c2 c3 c4 c5 c6', '', '']);
});

it('a table refuses it in a content that is being filled, too', async () => {
  const own = await tableSink({ layout: ORDERS, database }).rebuild?.open('orders-1-a', signal);
  await expect(own?.write(entries(ORDERS, [order('o1', null, 1), order('o2', null, 1)]), signal)).rejects.toMatchObject(
    {
      refused: new Map([[entryId(['t'], 'o2'), expect.stringContaining('unique')]]),
    },
  );
});

it('another version of a table leads foreign keys to what readers get of the other table, and drops what they had', async () => {
  await write(CUSTOMERS, customer('c1'));
  await promote(CUSTOMERS, 'customers-1-a', [customer('c2')]);
  await promote(ORDERS, 'orders-1-a', [order('o1', 'c2', 1)], 60_000);
  expect(await shown()).toEqual(['c2', 'o1', '']);
  const named = (await keys()).map((key) => key.replaceAll(/_v1_[0-9a-f]{10}/g, '_new'));
  expect(named).toContain(
    'millrace.orders_new FOREIGN KEY (tenant, customer_id) REFERENCES millrace.customers_new(tenant, id) NOT ENFORCED',
  );
  expect(named).toContain(
    'millrace.shipments_v1 FOREIGN KEY (tenant, order_id) REFERENCES millrace.orders_new(tenant, id) NOT ENFORCED',
  );
  expect((await cleanTables(LAYOUTS, database, signal)).dropped).toHaveLength(1);
  expect(await tableSink({ layout: ORDERS, database }).back?.(signal, 0)).toBe('v1');
  expect(await keys()).toContain(
    'millrace.shipments_v1 FOREIGN KEY (tenant, order_id) REFERENCES millrace.orders_v1(tenant, id) NOT ENFORCED',
  );
  for (const layout of LAYOUTS) expect(await tableFaults(layout, database, signal)).toEqual([]);
});

it('a look at the tables names a unique constraint that someone dropped', async () => {
  expect(await tableFaults(ORDERS, database, signal)).toEqual([]);
  await client.query('ALTER TABLE millrace.orders_v1 DROP CONSTRAINT orders_v1_u1');
  expect(await tableFaults(ORDERS, database, signal)).toEqual([
    { what: expect.stringContaining('orders_v1_u1'), hint: expect.stringContaining('rebuild orders') },
  ]);
});

it('an erasure removes the rows of a tenant', async () => {
  await write(CUSTOMERS, customer('c1'));
  await write(ORDERS, order('o1', 'c1', 1), order('o2', 'c2', 2));
  await write(SHIPMENTS, shipment('s1', 'o1'));
  const options = { database, projections: ['customers', 'orders', 'shipments'], tenant: 't', signal };
  await removeTenantRows(options, () => undefined);
  expect(await shown()).toEqual(['', '', '']);
});

it('`sql clean` drops undeclared tables that are named, with their views and the references that lead to them', async () => {
  await write(CUSTOMERS, customer('c1'));
  await write(ORDERS, order('o1', 'c1', 1));
  await client.query('CREATE TABLE millrace.mine (id text PRIMARY KEY)');
  const clean = (undeclared?: string) => cleanTables([CUSTOMERS], database, signal, undeclared);
  // It may be another pipeline's, so nothing goes unless it is named.
  expect(await clean()).toEqual({
    dropped: [],
    left: expect.arrayContaining([
      expect.stringContaining('--undeclared shipments'),
      expect.stringContaining('--undeclared orders'),
    ]) as string[],
  });
  await expect(clean('customers')).rejects.toMatchObject({ code: 'not-found' });
  await client.query('CREATE VIEW own AS SELECT id FROM orders');
  await expect(clean('orders')).rejects.toMatchObject({
    code: 'tables-view-used',
    message: expect.stringContaining('own'),
  });
  await client.query('DROP VIEW own');
  // Shipments still name orders.
  expect(await clean('orders')).toMatchObject({
    dropped: [expect.stringContaining('of orders@1 (no longer declared)')],
    left: [expect.stringContaining('--undeclared shipments')],
  });
  expect(await keys()).toEqual([]);
  const listed = `SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE relkind IN ('r', 'v') AND nspname IN ('millrace', 'public') ORDER BY relname`;
  expect((await client.query(listed)).rows.map((row) => (row as { relname: string }).relname)).toEqual([
    'contents',
    'customers',
    'customers_v1',
    'customers_v1_guards',
    'mine',
    'readers',
    'shipments',
    'shipments_v1',
    'shipments_v1_guards',
  ]);
  await write(CUSTOMERS, customer('c2'));
  expect(await ids('customers')).toBe('c1 c2');
});
