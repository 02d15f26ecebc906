// Random histories of tables on a real PostgreSQL server: two hosts, zombies in the middle of a transaction, lost answers of
// commits, crashes, redelivery. In the end a comparison in SQL, which shares nothing with the tables' code, finds the rows
// equal to the documents (TAB-G1 to TAB-G5).
import { table } from 'millrace';
import { Pool } from 'pg';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { Doc, TableSpec } from '../../src/pipeline/specs.ts';
import { withRows } from '../../src/pipeline/tables/bind.ts';
import { layoutOf } from '../../src/pipeline/tables/layout.ts';
import type { DocumentRows } from '../../src/pipeline/tables/rows.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import type { Model } from '../../src/model/model.ts';
import { typeOfExamples } from '../support/type-of-examples.ts';
import { migrateTables } from '../../src/procedures/sql/migrate.ts';
import { type Database, openDatabase } from '../../src/postgres/database.ts';
import { tableRunner } from '../../src/kinds/table/table-runner.ts';
import { tableSink } from '../../src/access/tables/table-sink.ts';
import { NO_POSTGRES, type PostgresServer, startPostgres } from '../support/postgres.ts';
import { Random } from '../support/random.ts';
import { CONCERNS, type Made, type Order, type Outside, type Shown, deleted, m, useExact } from './effects.ts';
import { faulty } from './faulty-database.ts';
import { SEED } from './world.ts';

const at = { file: 'm.md', line: 1 };
/** What the tables are made of: an order with lines, and an owner among whom it moves. */
const more = (order: Order): Doc => ({
  ...order,
  owner: `${order.tenant}-${order.cents % 3}`,
  lines: Array.from({ length: order.cents % 4 }, (_, line) => ({ sku: `${order.cents}`, quantity: line })),
});
const MODEL: Model = {
  title: 'Orders',
  file: 'm.md',
  findings: [],
  containers: [
    {
      name: 'Orders',
      partitionKey: ['/tenant'],
      types: [typeOfExamples('order', [more({ id: 'd', tenant: 't', type: 'order', cents: 7 })], at)],
      at,
      places: {},
    },
  ],
};
const signal = new AbortController().signal;

/** The tenant is the key's, or a field that changes; `plain`: without a tenant. */
const KINDS = {
  tenanted: { tenant: 'tenant', sources: [] },
  moving: { tenant: 'owner', sources: [] },
  plain: { sources: [] },
} as const;
type Kind = keyof typeof KINDS;

/** Both ways of reading have the same tenants, so each has tables of its own. */
const FEEDS = ['latest', 'versions'] as const;
type Feed = (typeof FEEDS)[number];

const declared = (kind: Kind, feed: Feed): TableSpec =>
  table(`${kind}-${feed}`, {
    from: m.Orders.order,
    into: `${kind}_${feed}`,
    where: CONCERNS,
    children: { lines: { into: `${kind}_${feed}_lines` } },
  } as never);

const run = useExact();

describe.skipIf(NO_POSTGRES !== undefined)(
  `on real PostgreSQL${NO_POSTGRES === undefined ? '' : ` (${NO_POSTGRES})`}`,
  () => {
    let server: PostgresServer;
    let judge: Pool;
    let hosts: Database[];
    beforeAll(async () => {
      server = await startPostgres();
      judge = new Pool({ connectionString: server.url, max: 4 });
      hosts = [1, 2].map(() => openDatabase(server.url, { max: 60 }));
      for (const kind of Object.keys(KINDS) as Kind[])
        for (const feed of FEEDS) {
          await migrateTables([layoutOf(declared(kind, feed), KINDS[kind], MODEL)], hosts[0] as Database, signal);
          await judge.query(`ALTER TABLE millrace.${kind}_${feed}_v1 ADD CONSTRAINT taken CHECK (cents >= 0)`);
        }
    }, 60_000);
    afterAll(async () => {
      for (const host of hosts ?? []) await host.close();
      await judge?.end();
      await server?.[Symbol.asyncDispose]();
    });

    const made =
      (kind: Kind, feed: Feed) =>
      (outside: Outside, tenant: string): Made => {
        const random = new Random(Number(tenant.slice(1)) + 17);
        const pipeline = KINDS[kind];
        let next = 0;
        const runner = (): Made['runner'] extends () => infer R ? R : never => {
          const inner = hosts[(next += 1) % 2] as Database;
          const layout = layoutOf(declared(kind, feed), pipeline, MODEL);
          const bound = withRows(declared(kind, feed), pipeline as never, MODEL);
          // What the server refuses is refused by a constraint.
          const map = (doc: Doc): DocumentRows => {
            const rows = bound.map(doc) as DocumentRows;
            return outside.refused(doc as unknown as Order) ? { ...rows, root: { ...rows.root, cents: '-1' } } : rows;
          };
          const own = tableRunner({ ...bound, map, to: tableSink({ layout, database: faulty(inner, random) }) });
          return {
            ...own,
            apply: (changes, access) =>
              own.apply(
                changes.map((change) => enriched(change, kind)),
                access,
              ),
          };
        };
        return { runner, missing: (shown) => differing(judge, kind, `${kind}_${feed}`, tenant, shown) };
      };

    for (const kind of Object.keys(KINDS) as Kind[]) {
      it(`after any history ${kind} tables hold the rows that the documents have (seed ${SEED})`, () =>
        run(made(kind, 'latest')));
      it(`read by all versions, hard deletes and expiry among them, ${kind} tables hold the rows (seed ${SEED})`, () =>
        run(made(kind, 'versions'), { feed: 'all-versions' }));
    }
  },
);

function enriched(change: Change, kind: Kind): Change {
  const { doc, ...rest } = change;
  if (doc === undefined) return change;
  const full = more(doc as unknown as Order);
  const { tenant } = KINDS[kind] as { readonly tenant?: string };
  return { ...rest, doc: full, ...(tenant !== undefined && { tenant: String(full[tenant]) }) };
}

/** The ids whose rows are not those of the documents: both sides are lists of values, compared by the server. */
async function differing(
  judge: Pool,
  kind: Kind,
  name: string,
  tenant: string,
  shown: readonly Shown[],
): Promise<string[]> {
  const docs = shown.map(({ doc }) => more(doc)).filter((doc) => CONCERNS(doc as unknown as Order) && !deleted(doc));
  const [owner, own] = kind === 'moving' ? ['owner', 'owner text, tenant text'] : ['tenant', 'tenant text, owner text'];
  const { rows } = await judge.query<{ id: string }>(
    `WITH docs AS (SELECT * FROM jsonb_to_recordset($1::jsonb) AS d(id text, ${own}, cents bigint, lines jsonb)),
wanted AS (SELECT id, owner, cents FROM docs),
found AS (SELECT id, owner, cents FROM ${name} WHERE tenant = $2),
wanted_lines AS (SELECT d.id, d.${owner} AS of, (l.at - 1)::int AS position, l.line->>'sku' AS sku, (l.line->>'quantity')::bigint AS quantity
  FROM docs d, jsonb_array_elements(d.lines) WITH ORDINALITY AS l(line, at)),
found_lines AS (SELECT id, ${kind === 'plain' ? 'tenant' : owner} AS of, position, sku, quantity FROM ${name}_lines
  WHERE ${kind === 'moving' ? `owner LIKE $2 || '-%'` : 'tenant = $2'})
SELECT id FROM (
  (TABLE wanted EXCEPT ALL TABLE found) UNION ALL (TABLE found EXCEPT ALL TABLE wanted)) roots(id, owner, cents)
UNION SELECT id FROM (
  (TABLE wanted_lines EXCEPT ALL TABLE found_lines) UNION ALL (TABLE found_lines EXCEPT ALL TABLE wanted_lines)) lines(id, of, position, sku, quantity)`,
    [JSON.stringify(docs), tenant],
  );
  return rows.map(({ id }) => id);
}
