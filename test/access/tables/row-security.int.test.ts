// docs/SPEC-tables.md, TAB-R1 to TAB-R3: PostgreSQL itself shows readers one tenant's rows. On a real server.
import { table } from 'millrace';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Doc, TableEntry, TableSpec } from '../../../src/pipeline/specs.ts';
import { entryId } from '../../../src/pipeline/derived-ids.ts';
import { withRows } from '../../../src/pipeline/tables/bind.ts';
import { wholeDdl } from '../../../src/pipeline/tables/whole-ddl.ts';
import { layoutOf } from '../../../src/pipeline/tables/layout.ts';
import type { Model } from '../../../src/model/model.ts';
import { typeOfExamples } from '../../support/type-of-examples.ts';
import { migrateTables } from '../../../src/procedures/sql/migrate.ts';
import { type Database, openDatabase } from '../../../src/postgres/database.ts';
import { tableSink } from '../../../src/access/tables/table-sink.ts';
import { NO_POSTGRES, type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { namesOf } from '../../support/names-of.ts';

const at = { file: 'm.md', line: 1 };
const order = (store: number, id: string): Doc => ({ id, type: 'order', store, cents: 5, lines: [{ sku: 'a' }] });
const MODEL: Model = {
  title: 'Shop',
  file: 'm.md',
  findings: [],
  containers: [
    {
      name: 'Orders',
      partitionKey: ['/store'],
      types: [typeOfExamples('order', [order(1, 'o')], at)],
      at,
      places: {},
    },
  ],
};
const m = namesOf<{ Orders: { order: { id: string; store: number; cents: number; lines: { sku: string }[] } } }>();
const PIPELINE = { tenant: 'store', sources: [] };
const signal = new AbortController().signal;

const declared = (rowSecurity?: string): TableSpec =>
  withRows(
    table('orders', {
      from: m.Orders.order,
      into: 'orders',
      children: { lines: { into: 'order_lines' } },
      ...(rowSecurity !== undefined && { rowSecurity }),
    }),
    { ...PIPELINE } as never,
    MODEL,
  );
const layout = (rowSecurity?: string) => layoutOf(declared(rowSecurity), PIPELINE, MODEL);

const entry = (store: number, id: string, lsn: number): TableEntry => ({
  id: entryId([store], id),
  version: `00000001-${String(lsn).padStart(16, '0')}-1`,
  etag: `e${lsn}`,
  row: declared().map(order(store, id)),
  place: { key: [store], id, tenant: store },
});

describe.skipIf(NO_POSTGRES !== undefined)(
  `on real PostgreSQL${NO_POSTGRES === undefined ? '' : ` (${NO_POSTGRES})`}`,
  () => {
    let server: PostgresServer;
    let owner: Client;
    let shop: Client;
    let database: Database;
    beforeAll(async () => {
      server = await startPostgres();
      owner = new Client(server.url);
      await owner.connect();
      // The role of the tests has the name of the schema, which it would search first.
      await owner.query('ALTER ROLE millrace SET search_path = public; CREATE ROLE shop LOGIN');
      await owner.query('SET search_path = public');
      database = openDatabase(server.url);
      shop = new Client(server.url.replace('millrace@', 'shop@'));
      await shop.connect();
    }, 60_000);
    afterAll(async () => {
      await database?.close();
      await shop?.end();
      await owner?.end();
      await server?.[Symbol.asyncDispose]();
    });
    beforeEach(async () => {
      await owner.query('DROP SCHEMA IF EXISTS millrace CASCADE');
      await shop.query('ROLLBACK');
    });

    const migrate = (rowSecurity?: string) => migrateTables([layout(rowSecurity)], database, signal);
    const write = (...entries: TableEntry[]) => tableSink({ layout: layout(), database }).write(entries, signal);
    const grant = () => owner.query('GRANT SELECT ON orders, order_lines TO shop');
    /** What the role sees, of the store that its session names. */
    const seen = async (store: string | undefined, from = 'orders'): Promise<string[]> => {
      await shop.query('BEGIN');
      if (store !== undefined) await shop.query(`SELECT set_config('app.store', $1, true)`, [store]);
      const { rows } = await shop.query<{ id: string }>(`SELECT id FROM ${from} ORDER BY id`);
      await shop.query('COMMIT');
      return rows.map(({ id }) => id);
    };

    it('row security shows a session the rows of the tenant that it names, in the views and behind them, and without one none', async () => {
      await migrate('app.store');
      await write(entry(1, 'a', 1), entry(2, 'b', 2));
      await grant();
      // Who was let into the view is let into its table by the next migration.
      expect(await migrate('app.store')).toEqual(['let shop read the table behind orders']);
      expect(await migrate('app.store')).toEqual([]);
      for (const from of ['orders', 'order_lines', 'millrace.orders_v1']) {
        expect(await seen('1', from)).toEqual(['a']);
        expect(await seen('2', from)).toEqual(['b']);
        expect(await seen(undefined, from)).toEqual([]);
      }
      // A function that costs nothing isn't asked of rows that the role may not see.
      await shop.query(`SET client_min_messages = notice`);
      const said: string[] = [];
      shop.on('notice', ({ message }) => void said.push(String(message)));
      await owner.query(
        `CREATE OR REPLACE FUNCTION tell(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS $$ BEGIN RAISE NOTICE '%', $1; RETURN true; END $$`,
      );
      await shop.query(`BEGIN; SET LOCAL app.store = '1'; SELECT * FROM orders WHERE tell(id); COMMIT`);
      expect(said).toEqual(['a']);
      await expect(shop.query('SELECT 1 FROM millrace.orders_v1_guards')).rejects.toThrow('permission denied');
    });

    it('a rebuild keeps row security, where it lets in who reads the views', async () => {
      await migrate('app.store');
      await grant();
      const sink = tableSink({ layout: layout('app.store'), database });
      const target = await sink.rebuild?.open('orders-1-a', signal);
      await target?.write([entry(1, 'a', 1), entry(2, 'b', 2)], signal);
      await sink.rebuild?.swap('orders-1-a', signal);
      expect(await seen('2')).toEqual(['b']);
      expect(await seen(undefined)).toEqual([]);
      expect(await sink.faults?.(signal)).toEqual([]);
    });

    it('row security is put on and taken off in place, and doctor names what is missing', async () => {
      await migrate();
      await write(entry(1, 'a', 1), entry(2, 'b', 2));
      await grant();
      expect(await seen(undefined)).toEqual(['a', 'b']);
      const faults = async () =>
        (await tableSink({ layout: layout('app.store'), database }).faults?.(signal))?.map(({ what }) => what);
      expect(await faults()).toEqual([
        'The database has yet to show readers of orders the rows of the tenant that app.store names',
      ]);
      await migrate('app.store');
      expect(await faults()).toEqual([]);
      expect(await seen('1')).toEqual(['a']);
      // Another setting.
      await migrate('app.shop');
      expect(await seen('1')).toEqual([]);
      await owner.query('ALTER TABLE millrace.orders_v1 DISABLE ROW LEVEL SECURITY');
      await migrate('app.store');
      expect(await seen('1')).toEqual(['a']);
      await migrate();
      expect(await seen(undefined)).toEqual(['a', 'b']);
      expect(await migrate()).toEqual([]);
    });

    it('row security lets no writer change a part of the rows: a role that it restricts is refused', async () => {
      await migrate('app.store');
      await write(entry(1, 'a', 1));
      await owner.query('GRANT USAGE ON SCHEMA millrace TO shop; GRANT ALL ON ALL TABLES IN SCHEMA millrace TO shop');
      const poor = openDatabase(server.url.replace('millrace@', 'shop@'));
      const sink = tableSink({ layout: layout('app.store'), database: poor });
      await expect(sink.write([entry(1, 'a', 2)], signal)).rejects.toMatchObject({
        code: 'denied',
        retryable: true,
        message: expect.stringContaining('row-level security'),
      });
      expect((await sink.faults?.(signal))?.map(({ what }) => what)).toEqual([
        'Row-level security hides rows of millrace.order_lines_v1 from this role, so it writes none',
        'Row-level security hides rows of millrace.orders_v1 from this role, so it writes none',
      ]);
      await poor.close();
    });

    it('row security is among the statements that are printed', async () => {
      for (const statement of wholeDdl([layout('app.store')], { citus: false })) await owner.query(statement);
      expect(await migrate('app.store')).toEqual([]);
      await write(entry(1, 'a', 1), entry(2, 'b', 2));
      await grant();
      await owner.query(
        'GRANT USAGE ON SCHEMA millrace TO shop; GRANT SELECT ON millrace.orders_v1, millrace.order_lines_v1 TO shop',
      );
      expect(await seen('2', 'order_lines')).toEqual(['b']);
    });
  },
);
