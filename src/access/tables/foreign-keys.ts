// References as foreign keys that PostgreSQL 18 declares and doesn't enforce. An earlier server, and Citus, have none.
import { type Content, NOT_ENFORCED_FROM, foreignKeyDdl, tableName } from '../../pipeline/tables/ddl.ts';
import type { ForeignKey } from '../../pipeline/tables/table-layout.ts';
import type { Session } from '../../postgres/database.ts';
import { type Readers, readersOf } from './contents.ts';

/** What readers have of a projection. */
export type ShownOf = (of: Pick<ForeignKey, 'projection'>) => Promise<Pick<Readers, 'version' | 'content'> | undefined>;

/**
 * Foreign keys that a content lacks, with their statements. They lead to what readers have of the other table, while that
 * has the declared version.
 */
export async function keysLacking(
  session: Session,
  of: Content,
  shownOf: ShownOf = (key) => readersOf(session, key),
): Promise<{ readonly key: ForeignKey; readonly sql: string }[]> {
  const { layout, content } = of;
  if (layout.foreignKeys.length === 0 || !(await canDeclare(session))) return [];
  const { rows } = await session.query(
    "SELECT conname AS name FROM pg_constraint WHERE contype = 'f' AND conrelid = to_regclass($1)",
    [tableName(layout.name, content)],
  );
  const known = new Set(rows.map(({ name }) => String(name)));
  const lacking: { readonly key: ForeignKey; readonly sql: string }[] = [];
  for (const key of layout.foreignKeys) {
    const shown = await shownOf(key);
    if (shown?.version !== key.version) continue;
    const { name, sql } = foreignKeyDdl(of, key, tableName(key.table, shown.content));
    if (!known.has(name)) lacking.push({ key, sql });
  }
  return lacking;
}

/** Drops the foreign keys to a table that is to be replaced or dropped. */
export async function dropKeysTo(session: Session, table: string): Promise<readonly DroppedKey[]> {
  if (!(await canDeclare(session))) return [];
  const { rows } = await session.query(
    `SELECT conrelid::regclass::text AS own, quote_ident(conname) AS name, pg_get_constraintdef(oid) AS definition
FROM pg_constraint WHERE contype = 'f' AND NOT conenforced AND confrelid = to_regclass($1)`,
    [table],
  );
  const dropped = rows.map(({ own, name, definition }) => ({
    table: String(own),
    name: String(name),
    definition: String(definition),
  }));
  for (const key of dropped) await session.query(`ALTER TABLE ${key.table} DROP CONSTRAINT ${key.name}`);
  return dropped;
}

interface DroppedKey {
  readonly table: string;
  readonly name: string;
  /** As PostgreSQL writes it. */
  readonly definition: string;
}

/** Lets foreign keys that led to one table lead to another one with the same key. */
export async function moveKeys(session: Session, from: string, to: string): Promise<void> {
  for (const { table, name, definition } of await dropKeysTo(session, from))
    await session.query(
      `ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition.replace(/ REFERENCES [^(]{1,300}\(/, ` REFERENCES ${to}(`)}`,
    );
}

async function canDeclare(session: Session): Promise<boolean> {
  const { rows } = await session.query(
    `SELECT current_setting('server_version_num')::integer >= ${NOT_ENFORCED_FROM}
  AND NOT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') AS can`,
  );
  return rows[0]?.['can'] === true;
}
