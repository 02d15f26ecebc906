// Rows that wait: a row whose other document is missing, or whose values another document has, is in a table of its own
// until it may be shown. It goes there in the transaction of its document, and comes back in that of the other one.
import { canonical } from '../../base/json.ts';
import { type Content, tableName, uniqueColumns, waitsName } from '../../definition/tables/ddl.ts';
import { decidingColumns, isConstrained } from '../../definition/tables/foreign-keys.ts';
import type { DocumentRows } from '../../definition/tables/rows.ts';
import type { Session } from '../../postgres/database.ts';
import type { Advanced, Placed } from './guards.ts';
import type { Joins } from './joins.ts';
import { documentsWhere, readAs } from './read-rows.ts';
import { eachPortion, insert, insertDocuments, removeByKeys } from './replace.ts';

/** Documents that are in memory at one time. */
const PAGE = 500;

type Key = readonly unknown[];

/** As `replaceRows`, where rows of these documents, or of others that name them, may have to wait. */
export async function replaceJoined(
  session: Session,
  of: Content,
  entries: readonly Advanced[],
  joins: Joins,
): Promise<void> {
  const [first] = entries;
  if (!first) return;
  const { layout } = of;
  const present = entries.filter(({ entry }) => entry.row !== null);
  const stay = isConstrained(layout) ? await unchanged(session, of, present) : new Set<Placed>(present);
  const leaving = entries.filter((one) => !stay.has(one));
  await detach(session, of, leaving.map(keyOf), joins);
  await removeAll(session, of, leaving.map(keyOf));
  for (const child of layout.children)
    await removeByKeys(session, of, tableName(child.name, of.content), [...stay].map(keyOf));
  await insertDocuments(session, of, [...stay].map(rowsOf));
  await putWaiting(session, of, leaving.filter(({ entry }) => entry.row !== null).map(rowsOf));
  await settle(session, of, joins, layout.tenant && { value: first.tenant });
}

const keyOf = ({ tenant, identity }: Placed): Key => (tenant === undefined ? identity : [tenant, ...identity]);
const rowsOf = ({ entry }: Placed): DocumentRows => entry.row as DocumentRows;

/** Those whose root is shown with the same values in the columns that decide: they are overwritten where they are. */
async function unchanged(session: Session, of: Content, present: readonly Advanced[]): Promise<Set<Placed>> {
  const { layout, content } = of;
  const names = layout.identity.map(({ name }) => name);
  const deciding = decidingColumns(layout);
  const decided = deciding.map(({ name }) => name);
  const stored = new Map<string, string>();
  await eachPortion(layout.tenant, layout.identity, present.map(keyOf), async ({ sql, values }) => {
    const { rows } = await session.query(
      `SELECT ${[...layout.identity, ...deciding].map(readAs).join(', ')} FROM ${tableName(layout.name, content)} AS t WHERE ${sql}`,
      values,
    );
    for (const row of rows) stored.set(textOf(row, names), textOf(row, decided));
  });
  return new Set(
    present.filter((one) => {
      const { root } = rowsOf(one);
      return stored.get(textOf(root, names)) === textOf(root, decided);
    }),
  );
}

const textOf = (row: Readonly<Record<string, unknown>>, names: readonly string[]): string =>
  canonical(names.map((name) => row[name] ?? null));

/** Lets the rows wait that name rows which will be removed. */
async function detach(session: Session, of: Content, keys: readonly Key[], joins: Joins): Promise<void> {
  for (const other of joins.dependentsOf(of))
    for (const { projection, columns } of other.layout.foreignKeys) {
      if (projection !== of.layout.projection) continue;
      const named = columns.map((name, at) => ({ name, type: of.layout.identity[at]?.type ?? 'text' }));
      await eachPortion(of.layout.tenant, named, keys, async (where) => {
        for (;;) {
          const found = await documentsWhere(session, { of: other, where, limit: PAGE });
          await letWait(session, other, found, joins);
          if (found.length < PAGE) return;
        }
      });
    }
}

interface FoundDocument {
  readonly row: DocumentRows;
  readonly at: Key;
}

/** Moves documents that are shown to those that wait, and lets wait what names them. */
export async function letWait(
  session: Session,
  of: Content,
  found: readonly FoundDocument[],
  joins: Joins,
): Promise<void> {
  if (found.length === 0) return;
  const keys = found.map(({ at }) => at);
  await detach(session, of, keys, joins);
  await removeAll(session, of, keys);
  await putWaiting(
    session,
    of,
    found.map(({ row }) => row),
  );
}

async function removeAll(session: Session, of: Content, keys: readonly Key[]): Promise<void> {
  const { layout, content } = of;
  const tables = [...layout.children.map(({ name }) => tableName(name, content)), tableName(layout.name, content)];
  for (const name of [...tables, ...(isConstrained(layout) ? [waitsName(of)] : [])])
    await removeByKeys(session, of, name, keys);
}

async function putWaiting(session: Session, of: Content, rows: readonly DocumentRows[]): Promise<void> {
  const { identity } = of.layout;
  const columns = [...identity, ...decidingColumns(of.layout), { name: 'rows', type: 'jsonb' as const }];
  await insert(
    session,
    waitsName(of),
    columns,
    rows.map((one) => ({ ...one.root, rows: one })),
  );
}

/**
 * Shows what no longer has to wait, and then what waited for that. Of several documents that want the same values the one
 * with the lowest id has them. `tenant` absent: of all tenants.
 */
export async function settle(
  session: Session,
  of: Content,
  joins: Joins,
  tenant?: { readonly value: unknown },
): Promise<void> {
  for (const one of joins.concerned(of)) if (isConstrained(one.layout)) await settleOwn(session, one, joins, tenant);
}

async function settleOwn(
  session: Session,
  of: Content,
  joins: Joins,
  tenant: { readonly value: unknown } | undefined,
): Promise<void> {
  const { layout } = of;
  const own = tenant && layout.tenant ? `w.${layout.tenant.name} = $1::${layout.tenant.type} AND ` : '';
  const keys = layout.identity.map(({ name }) => name);
  for (;;) {
    const { rows } = await session.query(
      `SELECT w.rows FROM ${waitsName(of)} w WHERE ${own}(${joins.blocked(of)}) IS NOT TRUE
ORDER BY ${keys.map((name) => `w.${name}`).join(', ')} LIMIT ${PAGE}`,
      own === '' ? [] : [tenant?.value],
    );
    if (rows.length === 0) return;
    const free = firstOfEach(
      of,
      rows.map((row) => row['rows'] as DocumentRows),
    );
    await show(session, of, free);
  }
}

/** Shows all that waits, where there are no rules any more. */
export async function showAll(session: Session, of: Content): Promise<void> {
  for (;;) {
    const { rows } = await session.query(`SELECT w.rows FROM ${waitsName(of)} w LIMIT ${PAGE}`);
    const all = rows.map((row) => row['rows'] as DocumentRows);
    await show(session, of, all);
    if (all.length < PAGE) return;
  }
}

/** Moves documents that wait to those that are shown. */
async function show(session: Session, of: Content, rows: readonly DocumentRows[]): Promise<void> {
  const waiting = rows.map(({ root }) => of.layout.identity.map(({ name }) => root[name]));
  await removeByKeys(session, of, waitsName(of), waiting);
  await insertDocuments(session, of, rows);
}

/** Without those that want values of one before them. */
function firstOfEach({ layout }: Content, rows: readonly DocumentRows[]): DocumentRows[] {
  const taken = layout.unique.map(() => new Set<string>());
  return rows.filter(({ root }) => {
    const wanted = layout.unique.map((columns) => uniqueColumns(layout, columns).map((name) => root[name] ?? null));
    const texts = wanted.map((values) => (values.includes(null) ? undefined : canonical(values)));
    if (texts.some((text, at) => text !== undefined && taken[at]?.has(text) === true)) return false;
    for (const [at, text] of texts.entries()) if (text !== undefined) taken[at]?.add(text);
    return true;
  });
}
