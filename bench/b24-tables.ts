// Documents into tables of a real PostgreSQL server, beside COPY of the same rows.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Client } from 'pg';
import { entryId } from '../src/pipeline/derived-ids.ts';
import type { Doc, TableEntry } from '../src/pipeline/specs.ts';
import { table } from '../src/pipeline/builders/table.ts';
import { withRows } from '../src/pipeline/tables/bind.ts';
import { layoutOf } from '../src/pipeline/tables/layout.ts';
import type { Model } from '../src/model/model.ts';
import { typeOfExamples } from '../test/support/type-of-examples.ts';
import { migrateTables } from '../src/procedures/sql/migrate.ts';
import { openDatabase } from '../src/postgres/database.ts';
import { tableSink } from '../src/access/tables/table-sink.ts';
import { NO_POSTGRES, startPostgres } from '../test/support/postgres.ts';
import { type Benchmark, type Figure, plain, sized } from './support/measure.ts';
import { namesOf } from '../test/support/names-of.ts';

const ROWS = Number(process.env['MILLRACE_BENCH_ROWS'] ?? sized(1_000_000, 10_000));
/** As a page of the feed, of one tenant. */
const PAGE = 1_000;
const TENANTS = 50;
const at = { file: 'm.md', line: 1 };

const order = (n: number): Doc => ({
  id: `order-${n}`,
  type: 'order',
  storeId: `store-${Math.floor(n / PAGE) % TENANTS}`,
  customerId: `customer-${n % 40_000}`,
  status: ['placed', 'paid', 'packed', 'shipped', 'delivered'][n % 5],
  placedAt: new Date(Date.UTC(2026, 0, 1) + n * 1_000).toISOString(),
  totalCents: 100 + (n % 50_000),
});
const MODEL: Model = {
  title: 'Shop',
  file: 'm.md',
  findings: [],
  containers: [
    {
      name: 'Orders',
      partitionKey: ['/storeId'],
      types: [typeOfExamples('order', [order(0)], at)],
      at,
      places: {},
    },
  ],
};
const PIPELINE = { tenant: 'storeId', sources: [] };
const m = namesOf<{ Orders: { order: Doc } }>();

/** Rows a second of this process's own way, and of COPY into a table with the same key. */
export const b24: Benchmark = {
  id: 'B24',
  title: 'documents into tables of PostgreSQL, beside COPY',
  lacks: NO_POSTGRES && `a PostgreSQL server: ${NO_POSTGRES}`,
  run: async () => {
    await using server = await startPostgres();
    const { signal } = new AbortController();
    const database = openDatabase(server.url);
    const spec = withRows(table('orders', { from: m.Orders.order, into: 'orders' }), PIPELINE as never, MODEL);
    const layout = layoutOf(spec, PIPELINE, MODEL);
    await migrateTables([layout], database, signal);
    const sink = tableSink({ layout, database });
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const heapMb = (): number => {
      collect();
      return process.memoryUsage().heapUsed / 1e6;
    };
    let early = 0;
    const cpu = process.cpuUsage();
    const started = performance.now();
    for (let from = 0; from < ROWS; from += PAGE) {
      const entries = Array.from({ length: Math.min(PAGE, ROWS - from) }, (_, n): TableEntry => {
        const doc = order(from + n);
        const place = { key: [doc['storeId']], id: String(doc['id']), tenant: doc['storeId'] };
        const version = `00000001-${String(from + n + 1).padStart(16, '0')}-1`;
        return { id: entryId(place.key, place.id), version, etag: `e${from + n}`, row: spec.map(doc), place };
      });
      await sink.write(entries, signal);
      if (from + PAGE === ROWS / 5) early = heapMb();
    }
    const seconds = (performance.now() - started) / 1_000;
    const { user, system } = process.cpuUsage(cpu);
    const late = heapMb();
    const client = new Client(server.url);
    await client.connect();
    const copied = await copySeconds(client);
    const { rows } = await client.query<{ n: string }>('SELECT count(*) AS n FROM orders');
    await client.end();
    await database.close();
    if (Number(rows[0]?.n) !== ROWS) throw new Error(`${rows[0]?.n} rows are there, of ${ROWS}`);
    const figures: Figure[] = [
      plain('rows by the sink, pages of 1,000 of one tenant', Math.round(ROWS / seconds), 'rows/s'),
      plain('rows by COPY into a table with the same key', Math.round(ROWS / copied), 'rows/s'),
      plain('rows to a second of this process’s processor time', Math.round((ROWS * 1e6) / (user + system)), 'rows/s'),
      plain('heap at all rows − at a fifth of them', Math.round((late - early) * 10) / 10, 'MB'),
    ];
    return figures;
  },
};

/** The rows of `orders` by COPY, to a file of the server and back into an empty table. */
async function copySeconds(client: Client): Promise<number> {
  await client.query('CREATE TABLE copied (LIKE millrace.orders_v1 INCLUDING ALL)');
  const { rows } = await client.query<{ data: string }>(`SELECT current_setting('data_directory') AS data`);
  const file = `${rows[0]?.data}/orders.copy`;
  await client.query(`COPY millrace.orders_v1 TO '${file}'`);
  const started = performance.now();
  await client.query(`COPY copied FROM '${file}'`);
  return (performance.now() - started) / 1_000;
}
