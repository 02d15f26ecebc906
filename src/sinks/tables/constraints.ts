// Lets PostgreSQL enforce the rules between documents of a content, once the rows that break one wait.
import { type Content, constraintsOf, tableName, uniqueColumns } from '../../definition/tables/ddl.ts';
import { isConstrained } from '../../definition/tables/foreign-keys.ts';
import type { Session } from '../../postgres/database.ts';
import { Joins } from './joins.ts';
import { documentsWhere } from './read-rows.ts';
import { letWait, settle, showAll } from './waiting.ts';

const PAGE = 500;

/** In a transaction that writers of the content, and of those that it names, wait for. */
export async function constrain(session: Session, of: Content): Promise<void> {
  if (!isConstrained(of.layout)) return;
  const joins = await Joins.read(session);
  for (const sql of breaking(of, joins))
    for (;;) {
      const found = await documentsWhere(session, { of, where: { sql, values: [] }, limit: PAGE });
      await letWait(session, of, found, joins);
      if (found.length < PAGE) break;
    }
  for (const { sql } of joins.constraints(of)) await session.query(sql);
  // A row that waits for the values of one that now waits itself.
  await settle(session, of, joins);
}

/** Without the rules nothing waits, and the content's rows hold none of other tables. */
export async function unconstrain(session: Session, of: Content): Promise<void> {
  if (!isConstrained(of.layout)) return;
  const table = tableName(of.layout.name, of.content);
  for (const { name } of constraintsOf(of, ({ table: other }) => other))
    await session.query(`ALTER TABLE IF EXISTS ${table} DROP CONSTRAINT IF EXISTS ${name}`);
  await showAll(session, of);
}

/** Readers have got this content: the foreign keys of others lead here from now on. */
export async function joinAgain(session: Session, of: Content): Promise<void> {
  for (const other of (await Joins.read(session)).dependentsOf(of)) {
    await unconstrain(session, other);
    await constrain(session, other);
  }
}

/** Conditions on rows that are shown and break a rule. */
function breaking({ layout, content }: Content, joins: Joins): string[] {
  const root = tableName(layout.name, content);
  const keys = layout.identity.map(({ name }) => name);
  return [
    ...layout.foreignKeys.map((key) => {
      const named = key.columns.map((name) => `t.${name} IS NOT NULL`).join(' AND ');
      const equal = key.to.map((name, at) => `p.${name} = t.${key.columns[at]}`).join(' AND ');
      return `${named} AND NOT EXISTS (SELECT 1 FROM ${joins.tableOf(key)} p WHERE ${equal})`;
    }),
    ...layout.unique.map((of) => {
      const columns = uniqueColumns(layout, of);
      const equal = columns.map((name) => `o.${name} = t.${name}`).join(' AND ');
      const less = `(${keys.map((name) => `o.${name}`).join(', ')}) < (${keys.map((name) => `t.${name}`).join(', ')})`;
      return `EXISTS (SELECT 1 FROM ${root} o WHERE ${equal} AND ${less})`;
    }),
  ];
}
