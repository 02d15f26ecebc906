// Tables of a pipeline over shards under random histories, while keys move between the shards: TAB-P1, TAB-P2 and SPREAD-P4. The
// oracle knows the application's writes alone, and compares in SQL. Shards and moves are simulated, the server is real.
import { table } from 'millrace';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import pMap from 'p-map';
import type { Doc, TableSpec } from '../../src/pipeline/specs.ts';
import { withRows } from '../../src/pipeline/tables/bind.ts';
import { layoutOf } from '../../src/pipeline/tables/layout.ts';
import { stayingAfterMoves } from '../../src/engine/runners.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import type { Model } from '../../src/model/model.ts';
import { typeOfExamples } from '../support/type-of-examples.ts';
import { migrateTables } from '../../src/procedures/sql/migrate.ts';
import { type Database, openDatabase } from '../../src/postgres/database.ts';
import { tableRunner } from '../../src/kinds/table/table-runner.ts';
import type { DocumentAccess } from '../../src/access/document-access.ts';
import { tableSink } from '../../src/access/tables/table-sink.ts';
import { NO_POSTGRES, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { Random } from '../support/random.ts';
import { m } from './effects.ts';
import { faulty } from './faulty-database.ts';
import { UNFENCED, Zombies, injected } from './history.ts';
import {
  HOSTS,
  type Shard,
  ShardHistory,
  type Subject,
  type Written,
  type Wrong,
  never,
  shardsOf,
} from './moving-shards.ts';
import { SEED, historiesOr } from './world.ts';

const at = { file: 'm.md', line: 1 };
/** An order with as many lines as its cents say, so that a list of another version is seen. */
const withLines = (doc: Doc): Doc => ({
  ...doc,
  lines: Array.from({ length: Number(doc['cents']) % 4 }, () => ({ sku: String(doc['cents']) })),
});
const MODEL: Model = {
  title: 'Orders',
  file: 'm.md',
  findings: [],
  containers: [
    {
      name: 'Orders',
      partitionKey: ['/tenant'],
      types: [
        typeOfExamples(
          'order',
          [withLines({ id: 'd', tenant: 't', type: 'order', state: 'open', cents: 7, deleted: false })],
          at,
        ),
      ],
      at,
      places: {},
    },
  ],
};
const PIPELINE = { tenant: 'tenant', sources: [] };
const signal = new AbortController().signal;
const TOGETHER = 20;

describe.skipIf(NO_POSTGRES !== undefined)(
  `on real PostgreSQL${NO_POSTGRES === undefined ? '' : ` (${NO_POSTGRES})`}`,
  () => {
    const declared = table('orders', {
      from: m.Orders.order,
      into: 'orders',
      children: { lines: { into: 'order_lines' } },
    } as never) as TableSpec;
    const layout = layoutOf(declared, PIPELINE, MODEL);
    const spec = withRows(declared, PIPELINE as never, MODEL);
    let server: PostgresServer;
    let judge: Pool;
    let hosts: Database[];
    beforeAll(async () => {
      server = await startPostgres();
      judge = new Pool({ connectionString: server.url, max: 4 });
      hosts = Array.from({ length: HOSTS }, () => openDatabase(server.url, { max: 60 }));
      await migrateTables([layout], hosts[0] ?? never(), signal);
    }, 60_000);
    afterAll(async () => {
      for (const host of hosts ?? []) await host.close();
      await judge?.end();
      await server?.[Symbol.asyncDispose]();
    });

    function historyOf(seed: number, wrong?: Wrong): ShardHistory {
      // Histories share the tables, so each has tenants of its own.
      const name = `${wrong?.replaceAll(' ', '') ?? 'right'}${seed}`;
      const [random, zombies, shards] = [new Random(seed), new Zombies(), shardsOf()];
      const apply: Subject['apply'] = (shard, host, changes, faults) => {
        const inner = hosts[host] ?? never();
        const database = faults ? faulty(inner, random) : inner;
        const own = tableRunner({ ...spec, to: tableSink({ layout, database }) });
        const runner = wrong === 'applies what left' ? own : stayingAfterMoves(own);
        const access = sourceOf(shard);
        return runner.apply(changes.map(full), faults ? injected(access, random, zombies, 0.1, 0.02) : access);
      };
      const subject: Subject = {
        apply,
        exact: async (written) => expect(await differing(judge, name, written)).toEqual([]),
        settled: async (documents, still) => {
          const { rows } = await judge.query<{ who: string }>(
            `SELECT tenant || ' ' || id AS who FROM orders WHERE tenant LIKE $1`,
            [`${name}-%`],
          );
          const there = new Set(rows.map(({ who }) => who));
          for (const who of documents) if (!there.has(who) && still(who)) throw new Error(`${who} has no row`);
        },
      };
      return new ShardHistory(shards, { random, name, zombies, subject, wrong });
    }

    it(`a table of all shards holds the rows of each document at every moment while keys move (seed ${SEED})`, async () => {
      let moves = 0;
      const seeds = Array.from({ length: historiesOr(15) }, (_, index) => SEED + index);
      await pMap(
        seeds,
        async (seed) => {
          const history = historyOf(seed);
          const judged = async (): Promise<void> => {
            await history.run();
            await history.assertExact();
          };
          await judged().catch((error: unknown) => {
            throw new Error(`MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1`, { cause: error });
          });
          moves += history.moves;
        },
        { concurrency: TOGETHER },
      );
      expect(moves).toBeGreaterThan(0);
    });

    describe('a tempting variant is seen to fail', () => {
      const MOST = 600;
      const LONG: readonly Wrong[] = ['epoch stays', 'copy is new'];
      it.each<Wrong>(['applies what left', ...(process.env['MILLRACE_HISTORIES'] === undefined ? [] : LONG)])(
        `%s (seed ${SEED})`,
        async (wrong) => {
          const seen = { failed: 0, tried: 0 };
          while (seen.failed === 0 && seen.tried < MOST) {
            const first = SEED + seen.tried;
            const seeds = Array.from({ length: 10 }, (_, index) => first + index);
            await pMap(seeds, async (seed) => {
              const history = historyOf(seed, wrong);
              await history
                .run()
                .then(() => history.assertExact())
                .catch(() => (seen.failed += 1));
            });
            seen.tried += seeds.length;
          }
          if (process.env['MILLRACE_HISTORIES'] !== undefined)
            console.info(`${wrong}: ${seen.failed} of ${seen.tried}`);
          expect(seen.failed).toBeGreaterThan(0);
        },
      );
    });
  },
);

const full = (change: Change): Change => (change.doc ? { ...change, doc: withLines(change.doc) } : change);

/** A host of a shard reads the source of that shard, and writes nothing but tables. */
const sourceOf = (shard: Shard): DocumentAccess => ({
  fence: UNFENCED,
  read: async (_container, key, ids) => ids.map((id) => shard.read(key[0] as string, id) as never),
  commit: never,
  query: never,
});

/** The documents whose rows are not those that the application wrote last: both sides are lists, compared by the server. */
async function differing(judge: Pool, name: string, written: ReadonlyMap<string, Written>): Promise<string[]> {
  const docs = [...written]
    .filter(([, { deleted }]) => !deleted)
    .map(([who, { state, cents }]) => ({ who, state, cents, lines: cents % 4 }));
  const { rows } = await judge.query<{ who: string }>(
    `WITH docs AS (SELECT * FROM jsonb_to_recordset($1::jsonb) AS d(who text, state text, cents bigint, lines int)),
wanted AS (SELECT who, state, cents FROM docs),
found AS (SELECT tenant || ' ' || id, state, cents FROM orders WHERE tenant LIKE $2),
wanted_lines AS (SELECT who, at, cents::text FROM docs, generate_series(0, lines - 1) AS at),
found_lines AS (SELECT tenant || ' ' || id, position, sku FROM order_lines WHERE tenant LIKE $2)
SELECT who FROM ((TABLE wanted EXCEPT ALL TABLE found) UNION ALL (TABLE found EXCEPT ALL TABLE wanted)) r(who, state, cents)
UNION SELECT who FROM (
  (TABLE wanted_lines EXCEPT ALL TABLE found_lines) UNION ALL (TABLE found_lines EXCEPT ALL TABLE wanted_lines)) l(who, at, sku)`,
    [JSON.stringify(docs), `${name}-%`],
  );
  return rows.map(({ who }) => who);
}
