// What the tables hold, document by document, in the form that `rowsOf` gives: for verify and repair.
import type { EntryPlace, TablePart, TableRow } from '../../pipeline/specs.ts';
import { entryId } from '../../pipeline/derived-ids.ts';
import { type Content, guardsName, tableName } from '../../pipeline/tables/ddl.ts';
import type { Column, TableLayout } from '../../pipeline/tables/layout.ts';
import { type Cells, type DocumentRows, identityCell } from '../../pipeline/tables/rows.ts';
import type { Database, Session } from '../../postgres/database.ts';
import { failure } from '../../postgres/failure.ts';
import { liveContent } from './contents.ts';
import { valuesOf } from './statements.ts';

export interface StoredRow extends TableRow {
  readonly row: DocumentRows;
}

/** Documents of which rows and guards are in memory at one time. */
const PAGE = 500;
/** A row that no guard accounts for: older than every version. */
const NO_VERSION = `${'0'.repeat(8)}-${'0'.repeat(16)}-0`;

/** A statement that looks at a whole table. */
const SCAN_MS = 30 * 60_000;

/** Rows of one block were mostly written together, so a sample is drawn from blocks with so many times its rows. */
const DRAWN_FROM = [20, 200];

/** A condition on the columns of the identity, with its values. */
interface Where {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** All documents of the live content, in the order of their primary key. */
export const storedRows = (layout: TableLayout, database: Database, signal: AbortSignal): AsyncGenerator<StoredRow> =>
  ordered(new Reading(layout, database, signal), {});

/** Some documents of the live content. */
export async function* someRows(
  part: TablePart,
  layout: TableLayout,
  database: Database,
  signal: AbortSignal,
): AsyncGenerator<StoredRow> {
  const reading = new Reading(layout, database, signal);
  const { tenant } = layout;
  if ('tenant' in part) {
    if (tenant) yield* ordered(reading, { own: { sql: `${tenant.name} = $1::${tenant.type}`, values: [part.tenant] } });
  } else if ('most' in part) yield* ordered(reading, part);
  else {
    const places = 'drawn' in part ? await reading.drawn(part.drawn) : part.places;
    for (let at = 0; at < places.length; at += PAGE) yield* await reading.placed(places.slice(at, at + PAGE));
  }
}

async function* ordered(
  reading: Reading,
  {
    own,
    most = Infinity,
    after,
  }: { readonly own?: Where; readonly most?: number; readonly after?: readonly unknown[] | undefined },
): AsyncGenerator<StoredRow> {
  let [from, left] = [after, most];
  while (left > 0) {
    const limit = Math.min(PAGE, left);
    const rows = await reading.page(own, from, limit);
    yield* rows;
    if (rows.length < limit) return;
    left -= rows.length;
    from = rows.at(-1)?.at;
  }
}

class Reading {
  readonly #layout: TableLayout;
  readonly #database: Database;
  readonly #signal: AbortSignal;
  readonly #names: string;

  constructor(layout: TableLayout, database: Database, signal: AbortSignal) {
    this.#layout = layout;
    this.#database = database;
    this.#signal = signal;
    this.#names = layout.identity.map(({ name }) => name).join(', ');
  }

  /** The next documents in the order of the primary key. */
  page(own: Where | undefined, after: readonly unknown[] | undefined, limit: number): Promise<StoredRow[]> {
    const { identity } = this.#layout;
    const values = [...(own?.values ?? []), ...(after ?? [])];
    const first = (own?.values.length ?? 0) + 1;
    const beyond = `(${this.#names}) > (${identity.map(({ type }, at) => `$${first + at}::${type}`).join(', ')})`;
    const sql = [...(own ? [own.sql] : []), ...(after ? [beyond] : [])].join(' AND ');
    return this.#within((session, of) => documentsWhere(session, { of, where: { sql, values }, limit }));
  }

  /** Documents by their places. A document that may move is looked for with each tenant that it may have. */
  placed(places: readonly EntryPlace[]): Promise<StoredRow[]> {
    const { identity, movable } = this.#layout;
    return this.#within(async (session, of) => {
      const held = movable ? await tenantsOf(session, of, places) : undefined;
      const keys = places.flatMap((place) => {
        const tenants = new Set([place.tenant, held?.get(entryId(place.key, place.id))].map((one) => one ?? null));
        return [...(this.#layout.tenant && movable ? tenants : [place.tenant])].flatMap((tenant) =>
          this.#identityOf({ ...place, tenant }),
        );
      });
      if (keys.length === 0) return [];
      const listed = valuesOf(
        keys,
        identity.map(({ type }) => type),
      );
      const where = { sql: `(${this.#names}) IN (${listed.sql})`, values: listed.values };
      return documentsWhere(session, { of, where });
    });
  }

  /** The places of so many documents, by chance: of blocks by chance, of which a large table has most left unread. */
  drawn(most: number): Promise<EntryPlace[]> {
    const { identity } = this.#layout;
    return this.#within(async (session, of) => {
      const table = tableName(of.layout.name, of.content);
      const { rows: known } = await session.query(`SELECT reltuples FROM pg_class WHERE oid = to_regclass($1)`, [
        table,
      ]);
      // Unknown before the first ANALYZE, and on the coordinator of Citus.
      const rows = Number(known[0]?.['reltuples']);
      const draw = async (from: string) =>
        (
          await session.query(
            `SELECT ${identity.map(readAs).join(', ')} FROM ${from} ORDER BY random() LIMIT $1::bigint`,
            [most],
          )
        ).rows;
      // A block is drawn or not: of a few, none may be, and the statistics may be old.
      const shares = rows > 0 ? DRAWN_FROM.map((times) => (100 * times * most) / rows) : [];
      for (const percent of shares.filter((share) => share < 100)) {
        const some = await draw(`${table} AS t TABLESAMPLE SYSTEM (${percent})`);
        if (some.length >= most) return some.map((row) => placeOf(this.#layout, row));
      }
      return (await draw(`${table} AS t`)).map((row) => placeOf(this.#layout, row));
    }, SCAN_MS);
  }

  /** The columns of the identity; none for a place that can't be one of the table. */
  #identityOf({ key, id, tenant }: EntryPlace): unknown[][] {
    try {
      return [
        this.#layout.identity.map((column) => {
          const from = column.from === 'tenant' ? tenant : column.from === 'id' ? id : key[column.from];
          const value = column.type !== 'text' && typeof from === 'string' ? Number(from) : from;
          return identityCell(column, value);
        }),
      ];
    } catch {
      return [];
    }
  }

  async #within<T>(work: (session: Session, of: Content) => Promise<T>, withinMs?: number): Promise<T> {
    const layout = this.#layout;
    return this.#database
      .transaction(
        async (session) => {
          const content = await liveContent(session, layout);
          return work(session, { layout, content });
        },
        { signal: this.#signal, ...(withinMs !== undefined && { withinMs }) },
      )
      .catch((error: unknown) => {
        throw failure(error, `The tables of ${layout.projection}@${layout.version} could not be read`);
      });
  }
}

interface AskedRows {
  readonly of: Content;
  readonly where: Where;
  readonly limit?: number;
}

/** The documents that a condition names, in the order of the primary key, with their children and versions. */
async function documentsWhere(session: Session, { of, where, limit }: AskedRows): Promise<StoredRow[]> {
  const { layout } = of;
  const keys = layout.identity.map(({ name }) => name);
  const names = keys.join(', ');
  const { rows: roots } = await session.query(
    `SELECT ${[...layout.identity, ...layout.columns].map(readAs).join(', ')} FROM ${tableName(layout.name, of.content)} AS t
${where.sql === '' ? '' : `WHERE ${where.sql}`} ORDER BY ${names}${limit === undefined ? '' : ` LIMIT ${limit}`}`,
    where.values,
  );
  const [first, last] = [roots[0], roots.at(-1)];
  if (!first || !last) return [];
  // Of a page in order, what lies between its ends; else by the same condition.
  const parameters = (from: number): string =>
    layout.identity.map(({ type }, at) => `$${from + at}::${type}`).join(', ');
  const within: Where =
    limit === undefined
      ? where
      : {
          sql: `(${names}) >= (${parameters(1)}) AND (${names}) <= (${parameters(1 + keys.length)})`,
          values: [...keys.map((name) => first[name]), ...keys.map((name) => last[name])],
        };
  const children = new Map<string, Map<string, Cells[]>>();
  for (const child of layout.children) {
    const { rows } = await session.query(
      `SELECT ${[...layout.identity, ...child.columns].map(readAs).join(', ')} FROM ${tableName(child.name, of.content)} AS t
WHERE ${within.sql} ORDER BY ${names}, t.position`,
      within.values,
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
  return placed.map(({ root, place }) => {
    const id = entryId(place.key, place.id);
    const own = layout.children.map((child) => [child.name, children.get(child.name)?.get(textOf(root, keys)) ?? []]);
    const row: DocumentRows = { root, children: Object.fromEntries(own) as DocumentRows['children'] };
    const version = versions.get(textKey(layout, place, id)) ?? NO_VERSION;
    return { id, row, version, place, at: keys.map((name) => root[name]) };
  });
}

/** By the guards: the tenant that has a document's rows. */
async function tenantsOf(
  session: Session,
  of: Content,
  places: readonly EntryPlace[],
): Promise<ReadonlyMap<string, unknown>> {
  const { rows } = await session.query(`SELECT id, tenant FROM ${guardsName(of)} WHERE id = ANY ($1::text[])`, [
    places.map(({ key, id }) => entryId(key, id)),
  ]);
  return new Map(rows.map(({ id, tenant }) => [String(id), tenant]));
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
