// The tables on a real server: what is written, what is refused, and how contents are switched.
import { table } from 'millrace';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Doc, Entry, TableEntry, TableSpec } from '../../../src/pipeline/specs.ts';
import { withRows } from '../../../src/pipeline/tables/bind.ts';
import { entryId } from '../../../src/pipeline/derived-ids.ts';
import { layoutOf } from '../../../src/pipeline/tables/layout.ts';
import type { Model } from '../../../src/model/model.ts';
import { typeOfExamples } from '../../support/type-of-examples.ts';
import { sweepGuards } from '../../../src/verbs/sql/clean.operation.ts';
import { migrateTables } from '../../../src/procedures/sql/migrate.ts';
import { type Database, openDatabase } from '../../../src/postgres/database.ts';
import { sharedLock } from '../../../src/access/tables/contents.ts';
import { tableSink } from '../../../src/access/tables/table-sink.ts';
import { lazyDatabase } from '../../../src/runtime/tables.ts';
import { NO_POSTGRES, type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { namesOf } from '../../support/names-of.ts';

interface Order {
  id: string;
  type: 'order';
  store: string;
  placedAt: string;
  cents: number;
  rate: number;
  paid: boolean;
  note?: string | null;
  lines: { sku: string; quantity: number }[];
  tags?: (string | null)[];
}

const at = { file: 'm.md', line: 1 };
const ORDER: Order = {
  id: 'o1',
  type: 'order',
  store: 's1',
  placedAt: '2026-03-01T10:15:00Z',
  cents: 1200,
  rate: 0.19,
  paid: true,
  note: 'n',
  lines: [{ sku: 'a', quantity: 1 }],
  tags: ['new', null],
};
const MODEL: Model = {
  title: 'Shop',
  file: 'm.md',
  findings: [],
  containers: [
    {
      name: 'Orders',
      partitionKey: ['/store'],
      types: [typeOfExamples('order', [{ ...ORDER }], at)],
      at,
      places: {},
    },
  ],
};
const m = namesOf<{ Orders: { order: Order } }>();
const PIPELINE = { tenant: 'store', sources: [] };
const signal = new AbortController().signal;

const declared = (version = 1, more: object = {}): TableSpec => {
  const spec = table('orders', {
    from: m.Orders.order,
    into: 'orders',
    version,
    children: { lines: { into: 'order_lines', ...more }, tags: {} },
  });
  return withRows(spec, { ...PIPELINE } as never, MODEL);
};

let lsn = 0;
interface Given {
  readonly id?: string;
  readonly store?: string;
  readonly at?: number;
  readonly etag?: string;
}

function entry(spec: TableSpec, doc: Order | null, given: Given = {}): TableEntry {
  const version = given.at ?? (lsn += 1);
  const [store, id] = [doc?.store ?? given.store ?? 's1', doc?.id ?? given.id ?? 'o1'];
  return {
    id: entryId([store], id),
    version: `00000001-${String(version).padStart(16, '0')}-1`,
    etag: given.etag ?? `e${version}`,
    row: doc === null ? null : spec.map(doc as unknown as Doc),
    place: { key: [store], id, tenant: store },
  };
}

const all = async <T>(items: AsyncIterable<T> | undefined): Promise<T[]> => {
  const found: T[] = [];
  for await (const one of items ?? []) found.push(one);
  return found;
};

it('a table sink waits for a missing setting: no change is parked for it', async () => {
  const spec = declared();
  const sink = tableSink({ layout: layoutOf(spec, PIPELINE, MODEL), database: lazyDatabase(() => ({})) });
  await expect(sink.write([entry(spec, ORDER)], signal)).rejects.toMatchObject({
    retryable: true,
    message: expect.stringContaining('POSTGRES_URL'),
    hint: expect.stringContaining('Set POSTGRES_URL'),
  });
});

describe.skipIf(NO_POSTGRES !== undefined)(
  `on real PostgreSQL${NO_POSTGRES === undefined ? '' : ` (${NO_POSTGRES})`}`,
  () => {
    let server: PostgresServer;
    let client: Client;
    let database: Database;
    beforeAll(async () => {
      server = await startPostgres();
      client = new Client(server.url);
      await client.connect();
      database = openDatabase(server.url);
    }, 60_000);
    afterAll(async () => {
      await database?.close();
      await client?.end();
      await server?.[Symbol.asyncDispose]();
    });
    beforeEach(async () => {
      await client.query('DROP SCHEMA IF EXISTS millrace CASCADE; DROP ROLE IF EXISTS reader');
    });

    const open = async (spec = declared()) => {
      const layout = layoutOf(spec, PIPELINE, MODEL);
      await migrateTables([layout], database, signal);
      return { spec, layout, sink: tableSink({ layout, database }) };
    };
    const query = async (sql: string): Promise<Doc[]> => (await client.query<Doc>(sql)).rows;

    it('a table sink holds the newest version of each document, its lists in a table of their own', async () => {
      const { spec, sink } = await open();
      const two = {
        ...ORDER,
        id: 'o2',
        lines: [
          { sku: 'b', quantity: 2 },
          { sku: 'c', quantity: 3 },
        ],
      };
      await sink.write([entry(spec, ORDER, { at: 5 }), entry(spec, two, { at: 6 })], signal);
      await sink.write([entry(spec, { ...ORDER, cents: 1 }, { at: 4 })], signal);
      await sink.write([entry(spec, { ...two, lines: [{ sku: 'd', quantity: 4 }] }, { at: 7 })], signal);
      expect(await query('SELECT id, cents, rate, paid, note, placed_at FROM orders ORDER BY id')).toMatchObject([
        { id: 'o1', cents: '1200', rate: 0.19, paid: true, note: 'n', placed_at: new Date(ORDER.placedAt) },
        { id: 'o2', cents: '1200' },
      ]);
      expect(await query('SELECT id, position, sku, quantity FROM order_lines ORDER BY id, position')).toEqual([
        { id: 'o1', position: 0, sku: 'a', quantity: '1' },
        { id: 'o2', position: 0, sku: 'd', quantity: '4' },
      ]);
    });

    it('a table sink keeps a deleted document deleted while its guard lives, and removes the guard afterwards', async () => {
      const { spec, layout } = await open();
      let now = Date.parse('2026-01-01T00:00:00Z');
      const sink = tableSink({ layout, database, clock: { now: () => now } });
      await sink.write([entry(spec, ORDER, { at: 5 })], signal);
      await sink.write([entry(spec, null, { at: 6 })], signal);
      await sink.write([entry(spec, ORDER, { at: 5 })], signal);
      expect(await query('SELECT 1 FROM orders')).toEqual([]);
      expect(await query('SELECT lsn, gone FROM millrace.orders_v1_guards')).toMatchObject([
        { lsn: '6', gone: new Date(now) },
      ]);
      now += 2 * 3_600_000;
      await sink.write([entry(spec, null, { id: 'o9', at: 9 })], signal);
      expect(await query('SELECT id FROM millrace.orders_v1_guards')).toEqual([{ id: 's1|o9' }]);
    });

    it('a table sink sweeps nothing before there are tables', async () => {
      expect(await sweepGuards([layoutOf(declared(), PIPELINE, MODEL)], database, signal)).toBe(0);
    });

    it('a table sink removes the guards of a quiet tenant by a sweep, once no late writer can need them', async () => {
      const { spec, layout, sink } = await open();
      await sink.write([entry(spec, ORDER, { at: 5 }), entry(spec, null, { store: 's2', id: 'o2', at: 6 })], signal);
      expect(await sweepGuards([layout], database, signal)).toBe(0);
      expect(await sweepGuards([layout], database, signal, new Date(Date.now() + 2 * 3_600_000))).toBe(1);
      expect(await query('SELECT id FROM millrace.orders_v1_guards')).toEqual([{ id: 's1|o1' }]);
    });

    it('a table sink reads the source again where a version has the same lsn and another ETag', async () => {
      const { spec, sink } = await open();
      await sink.write([entry(spec, ORDER, { at: 5, etag: 'a' })], signal);
      const other = entry(spec, { ...ORDER, cents: 7 }, { at: 5, etag: 'b' });
      await sink.write([{ ...other, isCurrent: async () => false } as Entry], signal);
      expect(await query('SELECT cents FROM orders')).toEqual([{ cents: '1200' }]);
      await sink.write([{ ...other, isCurrent: async () => true } as Entry], signal);
      expect(await query('SELECT cents FROM orders')).toEqual([{ cents: '7' }]);
    });

    it('a table sink refuses what the server will never take by name, and writes the others', async () => {
      const { spec, sink } = await open();
      await client.query('ALTER TABLE millrace.orders_v1 ADD CONSTRAINT mine CHECK (cents < 2000)');
      const docs = [1, 2, 3, 4].map((n) => ({ ...ORDER, id: `o${n}`, cents: n === 3 ? 5_000 : n }));
      await expect(
        sink.write(
          docs.map((doc) => entry(spec, doc)),
          signal,
        ),
      ).rejects.toMatchObject({
        code: 'sink-refused',
        refused: new Map([['s1|o3', expect.stringContaining('mine')]]),
      });
      expect(await query('SELECT id FROM orders ORDER BY id')).toEqual([{ id: 'o1' }, { id: 'o2' }, { id: 'o4' }]);
    });

    it('a table sink gives back the rows that were written, with their versions', async () => {
      const { spec, sink } = await open();
      const docs = Array.from({ length: 1_203 }, (_, n) => ({
        ...ORDER,
        id: `o${n}`,
        store: `s${n % 3}`,
        rate: n === 0 ? 5e-7 : n / 7,
        note: n % 2 === 0 ? null : 'ä"\\',
        placedAt: `2026-03-01T10:15:00.${String(n).padStart(6, '0')}+02:00`,
        lines: n % 4 === 0 ? [] : [{ sku: 'a', quantity: n }, { sku: 'b', quantity: 1, more: [n] } as never],
        odd: { n },
        tags: n % 3 === 0 ? [] : [`t${n}`, null],
      }));
      const entries = docs.map((doc) => entry(spec, doc));
      await sink.write(entries, signal);
      const found = new Map((await all(sink.rows?.(signal))).map(({ id, row, version }) => [id, { row, version }]));
      expect(found.size).toBe(docs.length);
      for (const { id, row, version } of entries) expect(found.get(id)).toEqual({ row, version });
    });

    it('a table sink parks a row of another place than its document has', async () => {
      const { spec, sink } = await open();
      const moved = { ...entry(spec, ORDER), place: { key: ['s2'], id: 'o1', tenant: 's2' } };
      const none = { ...entry(spec, null), place: { key: [null], id: 'o1' } };
      const both = await sink
        .write([moved, none, entry(spec, { ...ORDER, id: 'o2' })], signal)
        .catch((error: unknown) => error);
      expect(both).toMatchObject({ code: 'sink-refused', refused: { size: 1 } });
      expect(await query('SELECT id FROM orders')).toEqual([{ id: 'o2' }]);
    });

    it('a table sink waits for writers before it switches, and a writer that comes later writes the new content', async () => {
      const { spec, sink } = await open();
      await sink.rebuild?.open('orders-1-a', signal);
      const held = new Client(server.url);
      await held.connect();
      await held.query('BEGIN');
      await held.query(sharedLock({ projection: 'orders', version: 1 }));
      const order: string[] = [];
      const swapped = sink.rebuild?.swap('orders-1-a', signal).then(() => order.push('swapped'));
      const waiting = async (): Promise<void> => {
        const { rows } = await client.query(`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`);
        if (rows.length === 0) return waiting();
      };
      await waiting();
      order.push('committed');
      await held.query('COMMIT');
      await swapped;
      await held.end();
      expect(order).toEqual(['committed', 'swapped']);
      await sink.write([entry(spec, { ...ORDER, cents: 42 })], signal);
      expect(await query('SELECT cents FROM orders')).toEqual([{ cents: '42' }]);
    });

    it('a table sink says what to do where the tables are missing, and where the role lacks a right', async () => {
      const spec = declared();
      const layout = layoutOf(spec, PIPELINE, MODEL);
      const sink = tableSink({ layout, database });
      await expect(sink.write([entry(spec, ORDER)], signal)).rejects.toMatchObject({
        code: 'postgres-tables-missing',
        retryable: true,
        hint: expect.stringContaining('sql migrate'),
      });
      await migrateTables([layout], database, signal);
      await client.query('CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA millrace TO reader');
      const poor = openDatabase(server.url.replace('millrace@', 'reader@'));
      await expect(tableSink({ layout, database: poor }).write([entry(spec, ORDER)], signal)).rejects.toMatchObject({
        code: 'denied',
      });
      await poor.close();
      await client.query('DROP OWNED BY reader; DROP ROLE reader');
    });

    it('a table sink refuses nothing for good where the server has no connection left, or is read-only, and goes on when it has', async () => {
      const { spec, layout } = await open();
      const [first, second] = [entry(spec, ORDER), entry(spec, { ...ORDER, id: 'o2' })];
      await client.query('CREATE ROLE reader LOGIN CONNECTION LIMIT 1 IN ROLE millrace');
      const url = server.url.replace('millrace@', 'reader@');
      const last = new Client(url);
      await last.connect();
      const poor = openDatabase(url);
      const sink = tableSink({ layout, database: poor });
      const full = { code: 'postgres-full', retryable: true, hint: expect.stringContaining('storage') };
      await expect(sink.write([first], signal)).rejects.toMatchObject(full);
      await last.end();
      // The server counts a session until its process is gone.
      await vi.waitFor(() => sink.write([first], signal), { timeout: 30_000 });
      await poor.close();

      await client.query('ALTER ROLE reader SET default_transaction_read_only = on');
      const closed = openDatabase(url);
      await vi.waitFor(
        () =>
          expect(tableSink({ layout, database: closed }).write([second], signal)).rejects.toMatchObject({
            ...full,
            message: expect.stringContaining('read-only'),
          }),
        { timeout: 30_000 },
      );
      await closed.close();
      await client.query('ALTER ROLE reader RESET default_transaction_read_only');
      const opened = openDatabase(url);
      await vi.waitFor(() => tableSink({ layout, database: opened }).write([second], signal), { timeout: 30_000 });
      await opened.close();
      expect(await query('SELECT id FROM orders ORDER BY id')).toEqual([{ id: 'o1' }, { id: 'o2' }]);
      await client.query('DROP OWNED BY reader; DROP ROLE reader');
    });

    it('a table sink fills another content beside the live one, and switches the views in one transaction, with their grants', async () => {
      const { spec, sink } = await open();
      await client.query('CREATE ROLE reader');
      await client.query('GRANT SELECT ON orders TO reader');
      await sink.write([entry(spec, ORDER)], signal);
      const target = await sink.rebuild?.open('orders-1-a', signal);
      await target?.write([entry(spec, { ...ORDER, cents: 9 })], signal);
      expect(await query('SELECT cents FROM orders')).toEqual([{ cents: '1200' }]);
      await sink.rebuild?.swap('orders-1-a', signal);
      await sink.rebuild?.swap('orders-1-a', signal);
      expect(await query('SELECT cents FROM orders')).toEqual([{ cents: '9' }]);
      await sink.write([entry(spec, { ...ORDER, cents: 10 })], signal);
      expect(await query('SELECT cents FROM orders')).toEqual([{ cents: '10' }]);
      expect(await query(`SELECT has_table_privilege('reader', 'orders', 'SELECT') AS may`)).toEqual([{ may: true }]);
      await client.query('DROP OWNED BY reader; DROP ROLE reader');
    });

    it('a table sink lets no process that slept switch back to a content that another one replaced', async () => {
      const { sink } = await open();
      await sink.rebuild?.open('orders-1-a', signal);
      await sink.rebuild?.open('orders-1-b', signal);
      await sink.rebuild?.swap('orders-1-a', signal);
      await sink.rebuild?.swap('orders-1-b', signal);
      await expect(sink.rebuild?.swap('orders-1-a', signal)).rejects.toMatchObject({ code: 'tables-replaced' });
      await sink.rebuild?.drop('orders-1-b', signal);
      expect(await query('SELECT 1 FROM orders')).toEqual([]);
      expect(await query('SELECT generation FROM millrace.readers')).toEqual([{ generation: '3' }]);
    });

    it('a table sink gives readers a higher version with other columns, keeps their grants, and names views that would break', async () => {
      const first = await open();
      await client.query('CREATE ROLE reader; GRANT SELECT ON orders TO reader');
      const spec = { ...declared(2), columns: { cents: { name: 'amount' } } };
      const layout = layoutOf(spec, PIPELINE, MODEL);
      await migrateTables([first.layout, layout], database, signal);
      expect(await query('SELECT version FROM millrace.readers')).toEqual([{ version: 1 }]);
      const bound = withRows(spec, PIPELINE as never, MODEL);
      const sink = tableSink({ layout, database });
      const target = await sink.rebuild?.open('orders-2-a', signal);
      await target?.write([entry(bound, ORDER)], signal);
      await client.query('CREATE VIEW mine AS SELECT id FROM orders');
      await expect(sink.rebuild?.swap('orders-2-a', signal)).rejects.toMatchObject({
        code: 'tables-view-used',
        message: expect.stringContaining('mine'),
      });
      await client.query('DROP VIEW mine');
      await sink.rebuild?.swap('orders-2-a', signal);
      expect(await query('SELECT amount FROM orders')).toEqual([{ amount: '1200' }]);
      expect(await query(`SELECT has_table_privilege('reader', 'orders', 'SELECT') AS may`)).toEqual([{ may: true }]);
      // The version before can't take the views back.
      await first.sink.rebuild?.open('orders-1-late', signal);
      await first.sink.rebuild?.swap('orders-1-late', signal);
      expect(await query('SELECT amount FROM orders')).toEqual([{ amount: '1200' }]);
      await client.query('DROP OWNED BY reader; DROP ROLE reader');
    });
  },
);
