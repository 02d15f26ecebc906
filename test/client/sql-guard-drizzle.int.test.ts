// SQL-S4 with Drizzle: a library that others wrote gives the guard its statements.
import { eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { bigint, pgTable, text } from 'drizzle-orm/pg-core';
import { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { guardSql, readSqlSchema } from '../../src/client.ts';
import { usePglite } from '../support/pglite-stage.ts';

const DDL = `CREATE TABLE orders (store_id bigint, order_id bigint, status text, PRIMARY KEY (store_id, order_id));
CREATE TABLE order_items (store_id bigint, order_id bigint, sku text, PRIMARY KEY (store_id, order_id, sku));`;
const number = (name: string) => bigint(name, { mode: 'number' }).notNull();
const orders = pgTable('orders', { store: number('store_id'), id: number('order_id'), status: text() });
const items = pgTable('order_items', { store: number('store_id'), order: number('order_id'), sku: text() });

const { url, client } = await usePglite();
const schema = await readSqlSchema({ ddl: DDL, tenant: 'store_id' });
const pool = new Pool({ connectionString: url, max: 1 });
const db = drizzle({ client: guardSql(pool, schema, { enabled: true }) });
const ofStore1 = drizzle({ client: guardSql(pool, schema, { enabled: true, current: () => 1 }) });

beforeAll(async () => {
  await client.query(DDL);
});
beforeEach(async () => {
  await client.query(`TRUNCATE orders, order_items;
INSERT INTO orders VALUES (1, 1, 'open'), (1, 2, 'paid'), (2, 1, 'open');
INSERT INTO order_items VALUES (1, 1, 'a'), (2, 1, 'b')`);
});
afterAll(() => pool.end());

/** The code of what the guard threw, also where Drizzle made another error of it. */
async function refusal(run: PromiseLike<unknown>): Promise<unknown> {
  try {
    await run;
    return undefined;
  } catch (error) {
    const { code, cause } = error as { code?: string; cause?: { code?: string } };
    return code ?? cause?.code;
  }
}
const stored = async (): Promise<unknown> =>
  (
    await client.query(`SELECT string_agg(store_id || ' ' || order_id || ' ' || status, ', ' ORDER BY 1) AS all FROM
(SELECT * FROM orders ORDER BY store_id, order_id) o`)
  ).rows;

it('the guard passes Drizzle’s own statements of one tenant', async () => {
  const own = eq(orders.store, 1);
  expect(await db.select({ id: orders.id }).from(orders).where(own).orderBy(orders.id)).toEqual([{ id: 1 }, { id: 2 }]);
  const joined = db
    .select({ id: orders.id, sku: items.sku })
    .from(orders)
    .innerJoin(items, sql`${items.store} = ${orders.store} and ${items.order} = ${orders.id}`)
    .where(own);
  expect(await joined).toEqual([{ id: 1, sku: 'a' }]);
  await db.insert(orders).values({ store: 1, id: 3, status: 'open' });
  await db.update(orders).set({ status: 'sent' }).where(own);
  await db.transaction(async (tx) => {
    await tx.delete(items).where(eq(items.store, 1));
  });
  expect((await client.query('SELECT store_id FROM order_items')).rows).toEqual([{ store_id: '2' }]);
  expect((await client.query(`SELECT count(*)::int AS n FROM orders WHERE status = 'sent'`)).rows).toEqual([{ n: 3 }]);
});

it('the guard refuses Drizzle’s statements of all tenants before they run, in a transaction too', async () => {
  const before = await stored();
  expect(await refusal(db.select().from(orders))).toBe('all-tenants');
  expect(await refusal(db.select().from(orders).where(eq(orders.id, 1)))).toBe('all-tenants');
  expect(await refusal(db.update(orders).set({ status: 'x' }))).toBe('all-tenants');
  expect(await refusal(db.delete(orders))).toBe('all-tenants');
  expect(await refusal(db.execute(sql`select count(*) from orders`))).toBe('all-tenants');
  const joinedByOrder = db
    .select()
    .from(orders)
    .innerJoin(items, eq(items.order, orders.id))
    .where(eq(orders.store, 1));
  expect(await refusal(joinedByOrder)).toBe('all-tenants');
  const inside = db.transaction(async (tx) => {
    await tx.update(orders).set({ status: 'x' }).where(eq(orders.store, 1));
    await tx.delete(orders);
  });
  expect(await refusal(inside)).toBe('all-tenants');
  expect(await stored()).toEqual(before);
  expect((await db.execute(sql`select count(*)::int as n from orders -- all tenants: a test`)).rows).toEqual([
    { n: 3 },
  ]);
});

it('the guard knows the tenant among Drizzle’s parameters', async () => {
  expect(await ofStore1.select().from(orders).where(eq(orders.store, 1))).toHaveLength(2);
  expect(await refusal(ofStore1.select().from(orders).where(eq(orders.store, 2)))).toBe('all-tenants');
});
