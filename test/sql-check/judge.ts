// What a query shows of other stores, tried: it runs in worlds that differ only in the rows of other stores.
import { PGlite } from '@electric-sql/pglite';
import { schema } from './queries.ts';

/** The store whose rows are the same in each world. */
const STORE = 1;
const TENANT_TABLES = ['stores', 'products', 'orders', 'order_items', 'visits', 'notes'];
const SHARED_TABLES = ['countries', 'settings'];
/** Stands for Citus, and has a function that the schema doesn't declare. */
const PRELUDE = `
  CREATE FUNCTION create_reference_table(text) RETURNS void LANGUAGE sql AS '';
  CREATE FUNCTION create_distributed_table(text, text, colocate_with text DEFAULT '') RETURNS void LANGUAGE sql AS '';
`;
const WORLDS = ['alone', 'twin', 'random', 'crowd'] as const;

export type Judgement =
  | { readonly kind: 'same' }
  | { readonly kind: 'differs'; readonly world: string; readonly what: string }
  /** PostgreSQL refused the query in at least one world. */
  | { readonly kind: 'refused'; readonly why: string };

type Row = readonly (string | number | null)[];
type Rows = Readonly<Record<string, readonly Row[]>>;

export class Judge {
  readonly #db: PGlite;

  private constructor(db: PGlite) {
    this.#db = db;
  }

  static async open(): Promise<Judge> {
    const db = await PGlite.create();
    for (const world of WORLDS) {
      await db.exec(`CREATE SCHEMA ${world}; SET search_path TO ${world};`);
      await db.exec(PRELUDE + schema);
      await db.exec(
        'CREATE FUNCTION average_total() RETURNS numeric LANGUAGE sql AS $$ SELECT avg(total) FROM orders $$',
      );
    }
    return new Judge(db);
  }

  /** Fills the worlds with other rows. `draw(n)` returns an integer of 0 to n - 1. */
  async fill(draw: (below: number) => number): Promise<void> {
    const shared: Rows = {
      countries: [
        ['DE', 'Germany'],
        ['FR', 'France'],
      ].filter((_, at) => at === 0 || draw(2) === 0),
      settings: [
        ['paid', 'a'],
        ['open', 'b'],
      ],
    };
    const own = rowsOf(STORE, draw);
    for (const world of WORLDS) {
      await this.#db.exec(`SET search_path TO ${world}; TRUNCATE ${[...TENANT_TABLES, ...SHARED_TABLES].join(', ')};`);
      const others =
        world === 'alone'
          ? []
          : world === 'twin'
            ? [twinOf(own, 2)]
            : world === 'random'
              ? [rowsOf(2, draw), rowsOf(3, draw)]
              : [2, 3, 4, 5].map((store) => rowsOf(store, draw));
      // The rows of others come first in one world, because the place of a row must not matter.
      for (const rows of world === 'crowd' ? [...others, shared, own] : [shared, own, ...others])
        for (const [table, list] of Object.entries(rows))
          if (list.length > 0)
            await this.#db.exec(
              `INSERT INTO ${table} VALUES ${list.map((row) => `(${row.map(literal).join(',')})`).join(',')}`,
            );
    }
  }

  /** @param values default: the store for each parameter */
  async judge(sql: string, values?: readonly unknown[]): Promise<Judgement> {
    const seen = [];
    // One transaction, so that now() is the same in each world.
    await this.#db.exec(`BEGIN; SET LOCAL app.store = '${STORE}'`);
    try {
      for (const world of WORLDS) {
        try {
          seen.push({ world, ...(await this.#run(world, sql, values)) });
        } catch (error) {
          return { kind: 'refused', why: `${world}: ${error instanceof Error ? error.message : String(error)}` };
        }
      }
    } finally {
      await this.#db.exec('ROLLBACK');
    }
    const [alone, ...others] = seen;
    for (const { world, answer, kept, touched } of others) {
      if (touched !== undefined) return { kind: 'differs', world, what: `changes rows of other stores in ${touched}` };
      if (answer !== alone?.answer) return { kind: 'differs', world, what: `${alone?.answer} became ${answer}` };
      if (kept !== alone?.kept) return { kind: 'differs', world, what: `leaves ${kept}, and not ${alone?.kept}` };
    }
    if (alone?.touched !== undefined) return { kind: 'differs', world: 'alone', what: `writes for another store` };
    return { kind: 'same' };
  }

  async close(): Promise<void> {
    await this.#db.close();
  }

  async #run(
    world: string,
    sql: string,
    values: readonly unknown[] | undefined,
  ): Promise<{ answer: string; kept: string; touched: string | undefined }> {
    const reads = /^\s*(select|values)\b/i.test(sql);
    const most = Math.max(0, ...[...sql.matchAll(/\$(\d)/g)].map(([, number]) => Number(number)));
    const given = values ?? Array.from({ length: most }, () => STORE);
    await this.#db.exec(`SET LOCAL search_path TO ${world}; SAVEPOINT before`);
    const before = reads ? undefined : await this.#state();
    const { rows } = await this.#db.query(sql, [...given], { rowMode: 'array' });
    const after = reads ? undefined : await this.#state();
    await this.#db.exec('ROLLBACK TO before');
    return {
      answer: sorted(rows),
      kept: JSON.stringify(after?.own),
      touched: TENANT_TABLES.find((table) => before?.others[table] !== after?.others[table]),
    };
  }

  async #state(): Promise<{ own: Record<string, string>; others: Record<string, string> }> {
    const own: Record<string, string> = {};
    const others: Record<string, string> = {};
    for (const table of SHARED_TABLES)
      own[table] = sorted((await this.#db.query(`SELECT * FROM ${table}`, [], { rowMode: 'array' })).rows);
    for (const table of TENANT_TABLES) {
      const { rows } = await this.#db.query<{ store_id: number }>(`SELECT * FROM ${table}`);
      own[table] = sorted(rows.filter(({ store_id: store }) => store === STORE));
      others[table] = sorted(rows.filter(({ store_id: store }) => store !== STORE));
    }
    return { own, others };
  }
}

/** Rows have no order here: where an order matters, the query has one for all of its columns. */
const sorted = (rows: readonly unknown[]): string =>
  rows
    .map((row) => JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)))
    .toSorted()
    .join('\n');

const literal = (value: string | number | null): string =>
  value === null ? 'NULL' : typeof value === 'number' ? String(value) : `'${value}'`;

/** Few values, so that rows of different stores meet. */
function rowsOf(store: number, draw: (below: number) => number): Rows {
  const of = (count: number, row: (at: number) => Row): Row[] => Array.from({ length: count }, (_, at) => row(at + 1));
  const orders = 2 + draw(4);
  return {
    stores: [[store, `store ${draw(3)}`, draw(2) === 0 ? 'DE' : 'FR']],
    products: of(2 + draw(3), (id) => [store, id, `p${draw(3)}`, draw(20), draw(3) === 0 ? null : `c${draw(2)}`]),
    orders: of(orders, (id) => [
      store,
      id,
      draw(3) === 0 ? null : `customer ${draw(3)}`,
      draw(2) === 0 ? 'paid' : 'open',
      ['DE', 'FR', null][draw(3)] ?? null,
      `2026-01-0${1 + draw(9)}`,
      draw(30),
    ]),
    order_items: Array.from({ length: orders }).flatMap((_, at) =>
      of(draw(3), (line) => [store, at + 1, line, 1 + draw(4), 1 + draw(6)]),
    ),
    visits: of(1 + draw(4), (visitor) => [store, visitor, draw(9)]),
    notes: of(draw(3), (id) => [store, id, `note ${draw(5)}`]),
  };
}

/** The same rows for another store. */
const twinOf = (rows: Rows, store: number): Rows =>
  Object.fromEntries(
    Object.entries(rows).map(([table, list]) => [table, list.map((row): Row => [store, ...row.slice(1)])]),
  );
