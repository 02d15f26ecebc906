// The rows of one tenant in every content of some projections, also of contents that were replaced: for an erasure.
import { SCHEMA } from '../../pipeline/tables/ddl.ts';
import type { Made, MadeTable } from '../../pipeline/tables/made.ts';
import type { Database, Session } from '../../postgres/database.ts';
import { failure } from '../../postgres/failure.ts';
import { type ListedContent, listedContents, sharedLock } from './contents.ts';

/** Rows of one transaction. */
const PORTION = 2_000;
/** A statement that looks at a whole table. */
const SCAN_MS = 30 * 60_000;

export interface TenantRows {
  readonly database: Database;
  readonly projections: readonly string[];
  /** As `Change.tenant` has it. */
  readonly tenant: string;
  readonly signal: AbortSignal;
}

const reading = async <T>(
  { database, signal }: Pick<TenantRows, 'database' | 'signal'>,
  work: (session: Session) => Promise<T>,
): Promise<T> =>
  database.transaction(work, { signal, withinMs: SCAN_MS }).catch((error: unknown) => {
    throw failure(error, 'The tables could not be read');
  });

const contentsOf = async (options: Pick<TenantRows, 'database' | 'projections' | 'signal'>): Promise<ListedContent[]> =>
  (await reading(options, listedContents)).filter(({ projection }) => options.projections.includes(projection));

/** Tables of which this role may not delete rows. */
export async function undeletable(options: Omit<TenantRows, 'tenant'>): Promise<string[]> {
  const names = (await contentsOf(options)).flatMap(({ made }) => made.tables.map(({ name }) => name));
  const { rows } = await reading(options, (session) =>
    session.query(
      `SELECT name FROM unnest($1::text[]) AS name
WHERE to_regclass(name) IS NOT NULL AND NOT (
  has_table_privilege(to_regclass(name), 'SELECT') AND has_table_privilege(to_regclass(name), 'UPDATE')
  AND has_table_privilege(to_regclass(name), 'DELETE'))`,
      [names],
    ),
  );
  return rows.map(({ name }) => String(name));
}

/**
 * Removes the tenant's rows and guards, in portions. A process that dies leaves rows that the next run finds. The caller
 * owes that nothing applies a change of the tenant any more.
 */
export async function removeTenantRows(
  options: TenantRows,
  count: (table: string, rows: number) => void,
): Promise<void> {
  // PostgreSQL stores no such text.
  if (options.tenant.includes('\0')) return;
  for (const listed of await contentsOf(options))
    for (const table of listed.made.tables)
      for (;;) {
        const removed = await portion(options, listed, table);
        if (removed > 0) count(table.name, removed);
        if (removed < PORTION) break;
      }
}

/** A content that was dropped meanwhile has no rows. */
async function portion(options: TenantRows, listed: ListedContent, table: MadeTable): Promise<number> {
  const { database, tenant, signal } = options;
  const work = async (session: Session): Promise<number> => {
    const still = (await listedContents(session)).find(
      ({ projection, version, content }) =>
        projection === listed.projection && version === listed.version && content === listed.content,
    );
    if (!still) return 0;
    return removePortion(session, table, still.made, tenant);
  };
  return database.transaction(work, { signal, first: sharedLock(listed) }).catch((error: unknown) => {
    throw failure(error, `The tenant's rows could not be removed from ${table.name}`);
  });
}

async function removePortion(
  session: Session,
  { name, keys, tenants }: MadeTable,
  { tenantType }: Made,
  tenant: string,
): Promise<number> {
  const [column, before] = tenants;
  if (column === undefined || tenantType === undefined) return 0;
  const own = `${column} = $1::${tenantType}`;
  const listed = keys.join(', ');
  const { rowCount } = await session.query(
    `DELETE FROM ${name} WHERE ${own} AND (${listed}) IN (SELECT ${listed} FROM ${name} WHERE ${own} LIMIT ${PORTION})`,
    [tenant],
  );
  // A document that the tenant left: its guard names where it was.
  if (before !== undefined)
    await session.query(`UPDATE ${name} SET ${before} = NULL WHERE ${before} = $1::${tenantType}`, [tenant]);
  return rowCount ?? 0;
}

/** A row that has one of the texts anywhere in it. */
export interface FoundRow {
  readonly table: string;
  readonly row: Readonly<Record<string, unknown>>;
  /** The values of columns that name a tenant. Empty: reference data, or a table of another pipeline. */
  readonly tenants: readonly string[];
}

/**
 * Every row of every table of Millrace in the database that has one of the texts in its JSON form, or that is one of the
 * tenant's. It goes by what the server lists, not by what Millrace has made.
 */
export async function* rowsWith(options: TenantRows, texts: readonly string[]): AsyncGenerator<FoundRow> {
  const own = new Map(
    (await contentsOf(options)).flatMap(({ made }) => made.tables.map(({ name, tenants }) => [name, tenants] as const)),
  );
  for (const { name, keys } of await reading(options, keyedTables)) {
    const tenants = own.get(name) ?? [];
    const listed = keys.map((key) => key.name).join(', ');
    const has = [
      ...texts.map((_, at) => `strpos(to_jsonb(t)::text, $${at + 1}) > 0`),
      ...tenants.map((column) => `t.${column}::text = $${texts.length + 1}`),
    ];
    const given = tenants.length > 0 ? [...texts, options.tenant] : texts;
    let after: unknown[] | undefined;
    for (;;) {
      const beyond = after
        ? ` AND (${listed}) > (${keys.map(({ type }, at) => `$${given.length + at + 1}::${type}`).join(', ')})`
        : '';
      const from = after;
      const { rows } = await reading(options, (session) =>
        session.query(
          `SELECT to_jsonb(t) AS row, ${keys.map((key, at) => `t.${key.name}::text AS key${at}`).join(', ')}
FROM ${name} t WHERE (${has.join(' OR ')})${beyond} ORDER BY ${listed} LIMIT ${PORTION}`,
          [...given, ...(from ?? [])],
        ),
      );
      for (const { row } of rows as { row: Record<string, unknown> }[])
        yield {
          table: name,
          row,
          tenants: tenants.flatMap((column) => (row[column] === null ? [] : [textOf(row[column])])),
        };
      const last = rows.at(-1);
      if (!last || rows.length < PORTION) break;
      after = keys.map((_, at) => last[`key${at}`]);
    }
  }
}

interface KeyedTable {
  readonly name: string;
  readonly keys: readonly { readonly name: string; readonly type: string }[];
}

/** All tables in the schema of Millrace that have a primary key, except its own lists. */
async function keyedTables(session: Session): Promise<KeyedTable[]> {
  const { rows } = await session.query(
    `SELECT c.relname AS table, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k (att, place)
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.att
WHERE n.nspname = '${SCHEMA}' AND c.relkind IN ('r', 'p') AND c.relname NOT IN ('contents', 'readers')
ORDER BY c.relname, k.place`,
  );
  return [...Map.groupBy(rows, (row) => String(row['table']))].map(([name, columns]) => ({
    name: `${SCHEMA}.${name}`,
    keys: columns.map((column) => ({ name: String(column['name']), type: String(column['type']) })),
  }));
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
