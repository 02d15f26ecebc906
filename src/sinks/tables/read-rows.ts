// What the tables hold, document by document, in the form that `rowsOf` gives: for verify and repair.
import type { Entry, EntryPlace } from '../../definition/specs.ts';
import { entryId } from '../../definition/sink-id.ts';
import { type Content, guardsName, tableName } from '../../definition/tables/ddl.ts';
import type { Column, TableLayout } from '../../definition/tables/layout.ts';
import type { Cells, DocumentRows } from '../../definition/tables/rows.ts';
import type { Database, Session } from '../../postgres/database.ts';
import { failure } from '../../postgres/failure.ts';
import { liveContent } from './contents.ts';

export interface StoredRow extends Pick<Entry, 'id' | 'version'> {
  readonly row: DocumentRows;
  readonly place: EntryPlace;
}

/** Documents of which rows and guards are in memory at one time. */
const PAGE = 500;
/** A row that no guard accounts for: older than every version. */
const NO_VERSION = `${'0'.repeat(8)}-${'0'.repeat(16)}-0`;

/** All documents of the live content, in the order of their primary key. */
export async function* storedRows(
  layout: TableLayout,
  database: Database,
  signal: AbortSignal,
): AsyncGenerator<StoredRow> {
  const keys = layout.identity.map(({ name }) => name);
  let after: unknown[] | undefined;
  for (;;) {
    const page = await database
      .transaction(
        async (session) => readPage(session, { layout, content: await liveContent(session, layout) }, after),
        { signal },
      )
      .catch((error: unknown) => {
        throw failure(error, `The tables of ${layout.projection}@${layout.version} could not be read`);
      });
    yield* page.rows;
    if (!page.last || page.rows.length < PAGE) return;
    after = keys.map((name) => page.last?.[name]);
  }
}

async function readPage(
  session: Session,
  of: Content,
  after: readonly unknown[] | undefined,
): Promise<{ readonly rows: StoredRow[]; readonly last: Cells | undefined }> {
  const { layout, content } = of;
  const keys = layout.identity.map(({ name }) => name);
  const names = keys.join(', ');
  const parameters = (first: number): string =>
    layout.identity.map(({ type }, at) => `$${first + at}::${type}`).join(', ');
  const { rows: roots } = await session.query(
    `SELECT ${[...layout.identity, ...layout.columns].map(readAs).join(', ')} FROM ${tableName(layout.name, content)} AS t
${after ? `WHERE (${names}) > (${parameters(1)})` : ''} ORDER BY ${names} LIMIT ${PAGE}`,
    after ?? [],
  );
  const [first, last] = [roots[0], roots.at(-1)];
  if (!first || !last) return { rows: [], last: undefined };
  const between = [...keys.map((name) => first[name]), ...keys.map((name) => last[name])];
  const children = new Map<string, Map<string, Cells[]>>();
  for (const child of layout.children) {
    const { rows } = await session.query(
      `SELECT ${[...layout.identity, ...child.columns].map(readAs).join(', ')} FROM ${tableName(child.name, content)} AS t
WHERE (${names}) >= (${parameters(1)}) AND (${names}) <= (${parameters(1 + keys.length)}) ORDER BY ${names}, t.position`,
      between,
    );
    const by = Map.groupBy(rows, (row) => textOf(row, keys));
    children.set(child.name, new Map([...by].map(([key, some]) => [key, some.map((row) => without(row, keys))])));
  }
  const placed = roots.map((root) => ({ root, place: placeOf(layout, root) }));
  const versions = await versionsOf(
    session,
    of,
    placed.map(({ place }) => entryId(place.key, place.id)),
  );
  return {
    last,
    rows: placed.map(({ root, place }) => {
      const id = entryId(place.key, place.id);
      const own = layout.children.map((child) => [child.name, children.get(child.name)?.get(textOf(root, keys)) ?? []]);
      const row: DocumentRows = { root, children: Object.fromEntries(own) as DocumentRows['children'] };
      return { id, row, version: versions.get(textKey(layout, place, id)) ?? NO_VERSION, place };
    }),
  };
}

const textKey = ({ tenant, movable }: TableLayout, { tenant: value }: EntryPlace, id: string): string =>
  tenant && !movable ? `${String(value)}\n${id}` : id;

async function versionsOf(session: Session, of: Content, ids: readonly string[]): Promise<Map<string, string>> {
  const { tenant, movable } = of.layout;
  const own = tenant && !movable ? ', tenant' : '';
  const { rows } = await session.query(
    `SELECT id, epoch, lsn, turn${own} FROM ${guardsName(of)} WHERE id = ANY ($1::text[])`,
    [ids],
  );
  return new Map(
    rows.map(({ id, epoch, lsn, turn, tenant: value }) => [
      own === '' ? String(id) : `${String(value)}\n${String(id)}`,
      `${String(epoch).padStart(8, '0')}-${String(lsn).padStart(16, '0')}-${String(turn)}`,
    ]),
  );
}

/** The columns as text that is the same for equal values, as `rowsOf` writes them. */
function readAs({ name, type }: Pick<Column, 'name' | 'type'>): string {
  if (type === 'jsonb' || type === 'boolean') return name;
  if (type === 'numeric') return `trim_scale(${name})::text AS ${name}`;
  if (type === 'timestamptz') return `to_char(${name} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS ${name}`;
  if (type === 'date') return `to_char(${name}, 'YYYY-MM-DD') AS ${name}`;
  return type === 'double precision' ? `to_jsonb(${name}) AS ${name}` : `${name}::text AS ${name}`;
}

/** The key, the id and the tenant of a document, from the columns of its identity. */
function placeOf(layout: TableLayout, root: Cells): EntryPlace {
  const value = ({ name, type }: TableLayout['identity'][number]): unknown =>
    type === 'numeric' || type === 'bigint' ? Number(root[name]) : root[name];
  const levels = layout.identity.filter(({ from }) => typeof from === 'number');
  const key = levels.toSorted((a, b) => Number(a.from) - Number(b.from)).map(value);
  const id = layout.identity.find(({ path }) => path === '/id');
  return { key, id: String(id && root[id.name]), ...(layout.tenant && { tenant: value(layout.tenant) }) };
}

const textOf = (row: Cells, names: readonly string[]): string => JSON.stringify(names.map((name) => row[name]));
const without = (row: Cells, names: readonly string[]): Cells =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !names.includes(name)));
