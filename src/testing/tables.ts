// The database of a pipeline's tables, for scenarios one after the other: PGlite has one session.
import type { TableLayout } from '../pipeline/tables/layout.ts';
import { migrateTables } from '../procedures/sql/migrate.ts';
import { type Database, openDatabase } from '../postgres/database.ts';
import { startPglite } from '../postgres/pglite.ts';

const NEVER = new AbortController().signal;

/** A row of a view, as `to_jsonb` of PostgreSQL shows it. */
export type TableRow = Readonly<Record<string, unknown>>;

/** @internal */
export interface Tables extends AsyncDisposable {
  readonly database: Database;
  /** Empty tables. */
  prepare(layouts: readonly TableLayout[]): Promise<void>;
  /** What readers see of a table, in the order of its JSON; undefined: there is no such view. */
  rows(table: string): Promise<TableRow[] | undefined>;
}

/** @internal @throws UsageError `missing` */
export async function openTables(): Promise<Tables> {
  const server = await startPglite();
  const database = openDatabase(server.url, { max: 1 });
  return {
    database,
    prepare: async (layouts) => {
      await database.transaction((session) => session.query('DROP SCHEMA IF EXISTS millrace CASCADE'), {
        signal: NEVER,
      });
      await migrateTables(layouts, database, NEVER);
    },
    rows: (table) =>
      database.transaction(
        async (session) => {
          const { rows: known } = await session.query(
            'SELECT 1 FROM pg_views WHERE viewname = $1 AND schemaname = ANY (current_schemas(false))',
            [table],
          );
          if (known.length === 0) return undefined;
          const { rows } = await session.query(`SELECT to_jsonb(t) AS row FROM ${table} t ORDER BY to_jsonb(t)::text`);
          return rows.map(({ row }) => row as TableRow);
        },
        { signal: NEVER },
      ),
    [Symbol.asyncDispose]: async () => {
      await database.close();
      await server[Symbol.asyncDispose]();
    },
  };
}
