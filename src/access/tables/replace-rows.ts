// Replaces the rows of documents whose guards went forward.
import { type Content, tableName } from '../../pipeline/tables/ddl.ts';
import type { Column } from '../../pipeline/tables/layout.ts';
import type { Cells, DocumentRows } from '../../pipeline/tables/rows.ts';
import type { Session } from '../../postgres/database.ts';
import type { Advanced } from './guards.ts';
import { portions, valuesOf, whereOf } from './statements.ts';

/** Removes what there is of each document, then inserts what it has now. */
export async function replaceRows(session: Session, of: Content, entries: readonly Advanced[]): Promise<void> {
  const { layout, content } = of;
  const root = tableName(layout.name, content);
  const present = entries.filter(({ entry }) => entry.row !== null);
  const left = entries.filter(
    ({ entry, was, tenant }) => entry.row === null || (was !== undefined && was !== null && was !== String(tenant)),
  );
  for (const child of layout.children) await remove(session, of, tableName(child.name, content), entries);
  await remove(session, of, root, left);
  const strayed = entries.flatMap((one) => (one.strayed ?? []).map((tenant) => ({ ...one, tenant, was: null })));
  for (const name of [...layout.children.map((child) => tableName(child.name, content)), root])
    await remove(session, of, name, strayed);
  await insertDocuments(
    session,
    of,
    present.map(({ entry }) => entry.row as DocumentRows),
  );
}

/** Roots that are there are overwritten; child rows must not be there. */
async function insertDocuments(session: Session, of: Content, rows: readonly DocumentRows[]): Promise<void> {
  const { layout, content } = of;
  const keys = layout.identity.map(({ name }) => name);
  await insert(
    session,
    tableName(layout.name, content),
    [...layout.identity, ...layout.columns],
    rows.map((row) => row.root),
    keys,
  );
  for (const child of layout.children) {
    const cells = rows.flatMap(({ root: own, children }) =>
      (children[child.name] ?? []).map((row) => ({ ...pick(own, keys), ...row })),
    );
    await insert(session, tableName(child.name, content), [...layout.identity, ...child.columns], cells);
  }
}

const pick = (cells: Cells, names: readonly string[]): Cells =>
  Object.fromEntries(names.map((name) => [name, cells[name]]));

/** By tenant: those that a document left, where it may move. */
async function remove(session: Session, of: Content, table: string, entries: readonly Advanced[]): Promise<void> {
  const { tenant, movable, identity } = of.layout;
  const columns = identity.filter((column) => column !== tenant);
  const placed = entries.map((one) => ({ ...one, tenant: movable ? (one.was ?? one.tenant) : one.tenant }));
  for (const [, some] of Map.groupBy(placed, (one) => String(one.tenant))) {
    const [first] = some;
    // A movable document that was never seen has no rows.
    if (tenant && (first?.tenant === undefined || first.tenant === null)) continue;
    for (const portion of portions(some, columns.length)) {
      const where = whereOf(
        tenant && { name: tenant.name, type: tenant.type, value: first?.tenant },
        columns,
        portion.map((one) => one.identity),
      );
      await session.query(`DELETE FROM ${table} WHERE ${where.sql}`, where.values);
    }
  }
}

/** `over`: the primary key of rows that may be there and are overwritten. */
export async function insert(
  session: Session,
  table: string,
  columns: readonly Pick<Column, 'name' | 'type'>[],
  cells: readonly Cells[],
  over?: readonly string[],
): Promise<void> {
  const names = columns.map(({ name }) => name);
  const types = columns.map(({ type }) => type);
  const others = over ? names.filter((name) => !over.includes(name)) : [];
  const overwrite =
    others.length > 0 ? `DO UPDATE SET ${others.map((name) => `${name} = excluded.${name}`).join(', ')}` : 'DO NOTHING';
  for (const some of portions(cells, columns.length)) {
    const values = valuesOf(
      some.map((row) => columns.map(({ name, type }) => parameter(type, row[name]))),
      types,
    );
    await session.query(
      `INSERT INTO ${table} (${names.join(', ')}) VALUES ${values.sql}${over ? ` ON CONFLICT (${over.join(', ')}) ${overwrite}` : ''}`,
      values.values,
    );
  }
}

/** The client would send a list as an array of PostgreSQL. */
const parameter = (type: Column['type'], value: unknown): unknown =>
  value === undefined || value === null ? null : type === 'jsonb' ? JSON.stringify(value) : value;
