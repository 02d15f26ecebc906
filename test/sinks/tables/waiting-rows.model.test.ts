// Random histories of tables whose rows wait for one another, on a real PostgreSQL server: customers with unique addresses,
// orders that name a customer and have unique numbers, shipments that name an order. Two owners write every change, each
// with zombies, redelivery, crashes and lost answers of commits; the server refuses whatever would break a rule. In the end
// an oracle that shares nothing with the tables' code tells what may be shown and what has to wait (TAB-J1 to TAB-J4).
import { setImmediate as turn } from 'node:timers/promises';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MillraceError } from '../../../src/base/errors.ts';
import { migrateTables } from '../../../src/operations/sql/migrate.ts';
import { type Database, openDatabase } from '../../../src/postgres/database.ts';
import type { Doc } from '../../../src/definition/specs.ts';
import { tableSink } from '../../../src/sinks/tables/table-sink.ts';
import { faulty } from '../../projections/faulty-database.ts';
import { Crash } from '../../projections/history.ts';
import { SEED, historiesOr } from '../../projections/world.ts';
import { NO_POSTGRES, type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { Random } from '../../support/random.ts';
import { CUSTOMERS, LAYOUTS, ORDERS, SHIPMENTS, type Written, entryOf } from './waiting-shop.ts';

const { signal } = new AbortController();
const TOGETHER = 10;

/** What the application writes, in the order of the log. Few ids and few values, so that they meet. */
function historyOf(random: Random, tenant: string): Written[] {
  const some = <T>(...of: T[]): T => of[random.int(of.length)] as T;
  return Array.from({ length: 24 }, (_, lsn): Written => {
    const layout = some(CUSTOMERS, ORDERS, ORDERS, SHIPMENTS);
    const gone = random.chance(0.25);
    const id = `${layout.name[0]}${random.int(3)}`;
    const common = { id, tenant };
    const doc = (): Doc => {
      if (layout === CUSTOMERS) return { ...common, type: 'customer', address: some(null, 'x', 'y') };
      if (layout === SHIPMENTS) return { ...common, type: 'shipment', orderId: some('o0', 'o1', 'o2') };
      const lines = Array.from({ length: random.int(3) }, () => ({ sku: some('a', 'b') }));
      return { ...common, type: 'order', customerId: some(null, 'c0', 'c1', 'c2'), number: random.int(3), lines };
    };
    return { layout, id, lsn: lsn + 1, doc: gone ? null : doc() };
  });
}

/** One owner: applies everything in order, in pages that it may repeat, and old pages again now and then. */
async function own(history: readonly Written[], tenant: string, database: Database, random: Random): Promise<void> {
  const zombies: Promise<void>[] = [];
  const write = async (page: readonly Written[]): Promise<void> => {
    for (const [layout, some] of Map.groupBy(page, (one) => one.layout)) {
      // A page has the newest version of a document.
      const newest = [...new Map(some.map((one) => [one.id, one])).values()];
      const sink = tableSink({ layout, database: faulty(database, random) });
      await sink.write(
        newest.map((one) => entryOf(one, tenant)),
        signal,
      );
    }
  };
  const untilDone = async (page: readonly Written[]): Promise<void> => {
    for (;;)
      try {
        return await write(page);
      } catch (error) {
        if (!(error instanceof Crash) && !(error instanceof MillraceError && error.retryable)) throw error;
        await turn();
      }
  };
  for (let from = 0; from < history.length;) {
    const to = from + 1 + random.int(6);
    const page = history.slice(from, to);
    // Given up in the middle, and still running.
    if (random.chance(0.3)) zombies.push(write(page).catch(refusedOnly));
    if (random.chance(0.2))
      zombies.push(write(history.slice(0, to).filter(() => random.chance(0.3))).catch(refusedOnly));
    await untilDone(page);
    from = to;
  }
  await Promise.all(zombies);
}

const refusedOnly = (error: unknown): void => {
  if (!(error instanceof Crash) && !(error instanceof MillraceError && error.retryable)) throw error;
};

interface Shown {
  readonly id: string;
  readonly [column: string]: unknown;
}

/** What is wrong with what the history left: in the words of the documents alone. */
async function judge(pool: Pool, tenant: string, history: readonly Written[]): Promise<string[]> {
  const last = new Map(history.map((one) => [`${one.layout.name} ${one.id}`, one]));
  const rows = async (sql: string): Promise<Shown[]> => (await pool.query<Shown>(sql, [tenant])).rows;
  const wrong: string[] = [];
  const shown = new Map<string, Map<string, Shown>>();
  const waiting = new Map<string, Set<string>>();
  for (const { name } of LAYOUTS) {
    const contents = await pool.query<{ content: string; live: boolean }>(
      `SELECT content, state = 'live' AS live FROM millrace.contents WHERE name = $1 ORDER BY state`,
      [name],
    );
    const [live, kept] = contents.rows;
    const all = [...last.values()].filter(({ layout, doc }) => layout.name === name && doc).map(({ id }) => id);
    const also = await rows(`SELECT id FROM millrace.${name}_${kept?.content} WHERE tenant = $1`);
    if (
      all.toSorted().join() !==
      also
        .map(({ id }) => id)
        .toSorted()
        .join()
    )
      wrong.push(`kept ${name} differ`);
    shown.set(name, new Map((await rows(`SELECT * FROM ${name} WHERE tenant = $1`)).map((row) => [row.id, row])));
    waiting.set(
      name,
      new Set(
        (await rows(`SELECT id FROM millrace.${name}_${live?.content}_waits WHERE tenant = $1`)).map(({ id }) => id),
      ),
    );
  }
  const isShown = (name: string, id: unknown): boolean => shown.get(name)?.has(String(id)) === true;
  const held = (name: string, column: string, value: string | number | null): boolean =>
    value !== null && [...(shown.get(name)?.values() ?? [])].some((row) => String(row[column]) === String(value));
  for (const [place, { layout, id, doc }] of last) {
    const { name } = layout;
    const [here, waits] = [isShown(name, id), waiting.get(name)?.has(id) === true];
    if ((doc !== null) !== (here || waits)) wrong.push(`${place} is ${doc ? 'lost' : 'not removed'}`);
    if (here && waits) wrong.push(`${place} is shown and waits`);
    if (!doc) continue;
    const lacks =
      (name === 'orders' && doc['customerId'] !== null && !isShown('customers', doc['customerId'])) ||
      (name === 'shipments' && !isShown('orders', doc['orderId']));
    const taken =
      (name === 'orders' && held('orders', 'number', doc['number'] as number)) ||
      (name === 'customers' && held('customers', 'address', doc['address'] as string | null));
    if (here && lacks) wrong.push(`${place} is shown without its other document`);
    if (waits && !lacks && !taken) wrong.push(`${place} waits for nothing`);
    const row = shown.get(name)?.get(id);
    const columns = { customers: ['address'], orders: ['customer_id', 'number'], shipments: ['order_id'] }[name] ?? [];
    const fields: Record<string, string> = { customer_id: 'customerId', order_id: 'orderId' };
    for (const column of row ? columns : [])
      if (String(row?.[column]) !== String(doc[fields[column] ?? column])) wrong.push(`${place} has another ${column}`);
  }
  const wantedLines = [...last.values()].flatMap(({ layout, id, doc }) =>
    layout === ORDERS && doc && isShown('orders', id)
      ? (doc['lines'] as { sku: string }[]).map(({ sku }, position) => `${id} ${position} ${sku}`)
      : [],
  );
  const lines = await rows('SELECT id, position, sku FROM order_lines WHERE tenant = $1');
  const found = lines.map((row) => `${row.id} ${String(row['position'])} ${String(row['sku'])}`);
  if (found.toSorted().join() !== wantedLines.toSorted().join())
    wrong.push(`lines ${found.join()}, not ${wantedLines.join()}`);
  return wrong;
}

describe.skipIf(NO_POSTGRES !== undefined)(
  `on real PostgreSQL${NO_POSTGRES === undefined ? '' : ` (${NO_POSTGRES})`}`,
  () => {
    let server: PostgresServer;
    let pool: Pool;
    let hosts: Database[];
    beforeAll(async () => {
      server = await startPostgres();
      pool = new Pool({ connectionString: server.url, max: 4 });
      hosts = [1, 2].map(() => openDatabase(server.url, { max: 60 }));
      await migrateTables(LAYOUTS, hosts[0] as Database, signal);
      // Hosts write two contents of each from now on, and readers go from one to the other.
      for (const layout of LAYOUTS) {
        const { rebuild } = tableSink({ layout, database: hosts[0] as Database });
        await rebuild?.open('other', signal);
        await rebuild?.swap('other', signal, 3_600_000);
      }
    }, 60_000);
    afterAll(async () => {
      for (const host of hosts ?? []) await host.close();
      await pool?.end();
      await server?.[Symbol.asyncDispose]();
    });

    /** Some histories side by side, while readers go there and back; then the judgement, and empty tables. */
    const some = async (seeds: readonly number[]): Promise<void> => {
      const over = new AbortController();
      const administrator = (async (): Promise<void> => {
        const random = new Random(seeds[0] ?? SEED);
        while (!over.signal.aborted) {
          const layout = random.pick(LAYOUTS);
          await tableSink({ layout, database: hosts[0] as Database })
            .back?.(signal, 3_600_000)
            .catch(refusedOnly);
          for (let turns = 0; turns < 3_000 && !over.signal.aborted; turns++) await turn();
        }
      })();
      const histories = await Promise.all(
        seeds.map(async (seed) => {
          const random = new Random(seed);
          const history = historyOf(random, `t${seed}`);
          await Promise.all(hosts.map((host) => own(history, `t${seed}`, host, random)));
          return { seed, history };
        }),
      );
      over.abort();
      await administrator;
      for (const { seed, history } of histories)
        expect(await judge(pool, `t${seed}`, history), `seed ${seed}`).toEqual([]);
      const { rows } = await pool.query<{ names: string }>(
        `SELECT string_agg('millrace.' || tablename, ', ') AS names FROM pg_tables
WHERE schemaname = 'millrace' AND tablename NOT IN ('contents', 'readers')`,
      );
      await pool.query(`TRUNCATE ${rows[0]?.names}`);
    };

    it(`after any history rows are shown that may be, and the others wait (seed ${SEED})`, async () => {
      const count = historiesOr(10);
      for (let from = 0; from < count; from += TOGETHER)
        await some(Array.from({ length: Math.min(TOGETHER, count - from) }, (_, at_) => SEED + from + at_));
      const { rows } = await pool.query<{ n: number }>('SELECT sum(generation)::int AS n FROM millrace.readers');
      // Two of each are those of the beginning.
      expect(rows[0]?.n).toBeGreaterThan(2 * LAYOUTS.length);
    });
  },
);
