// Which contents a projection's tables have, and which one readers see. Both are rows in the same database, so that a
// transaction depends on what it read there.
import { createHash } from 'node:crypto';
import { type Content, SCHEMA } from '../../pipeline/tables/ddl.ts';
import type { KeptContent } from '../../pipeline/outside-sink.ts';
import type { TableLayout } from '../../pipeline/tables/layout.ts';
import { type Made, madeOf } from '../../pipeline/tables/made.ts';
import { postgresError } from '../../postgres/errors.ts';
import type { Session } from '../../postgres/database.ts';

type Named = Pick<TableLayout, 'projection' | 'version'>;

export interface StoredContent {
  readonly content: string;
  readonly state: 'filling' | 'live' | 'retired';
  /** Readers may get it again, so hosts write it. */
  readonly kept: boolean;
}

/** A number for an advisory lock: writers hold it together, and who changes contents holds it alone. */
export const lockNumber = ({ projection }: Pick<Named, 'projection'>): string =>
  String(createHash('sha256').update(`millrace.contents ${projection}`).digest().readBigInt64BE());

/** As the first statement of a writer's transaction: contents don't change until it ends. */
export const sharedLock = (of: Named): string => `SELECT pg_advisory_xact_lock_shared(${lockNumber(of)})`;
/** As the first statement of a transaction that changes contents: it waits for every writer. */
export const ownLock = (of: Pick<Named, 'projection'>): string => `SELECT pg_advisory_xact_lock(${lockNumber(of)})`;

export async function contentsOf(session: Session, { projection, version }: Named): Promise<StoredContent[]> {
  const { rows } = await session.query(
    `SELECT content, state, ${KEPT} AS kept FROM ${SCHEMA}.contents WHERE name = $1 AND version = $2::integer ORDER BY since, content`,
    [projection, version],
  );
  return rows.map((row) => ({
    content: String(row['content']),
    state: row['state'] as StoredContent['state'],
    kept: row['kept'] === true,
  }));
}

/** By the clock of the server, once the lock is held: so a writer and a way back agree on what is over. */
const KEPT = 'coalesce(kept_until > clock_timestamp(), false)';

/** The live content, also in a database that is yet to be migrated. */
export async function liveOf(session: Session, { projection, version }: Named): Promise<string | undefined> {
  const { rows } = await session.query(
    `SELECT content FROM ${SCHEMA}.contents WHERE name = $1 AND version = $2::integer AND state = 'live'`,
    [projection, version],
  );
  return rows[0] && String(rows[0]['content']);
}

/** @throws MillraceError `postgres-tables-missing` */
export async function liveContent(session: Session, of: Named): Promise<string> {
  const live = await liveOf(session, of);
  if (live !== undefined) return live;
  throw noTables(of);
}

export interface WrittenContents {
  readonly live: string;
  /** What the live content replaced, while that is kept. */
  readonly kept: readonly string[];
}

/**
 * What hosts write, by one statement.
 * @throws MillraceError `postgres-tables-missing`
 */
export async function writtenContents(session: Session, { projection, version }: Named): Promise<WrittenContents> {
  const { rows } = await session.query(
    `SELECT content, state FROM ${SCHEMA}.contents
WHERE name = $1 AND version = $2::integer AND (state = 'live' OR state = 'retired' AND ${KEPT}) ORDER BY since, content`,
    [projection, version],
  );
  const live = rows.find(({ state }) => state === 'live');
  if (!live) throw noTables({ projection, version });
  const kept = rows.filter((row) => row !== live).map(({ content }) => String(content));
  return { live: String(live['content']), kept };
}

const noTables = ({ projection, version }: Named): Error =>
  postgresError('postgres-tables-missing', `There are no tables of ${projection}@${version} yet`);

/**
 * The content of a target that a rebuild fills. Its name ends the names of its tables, so it is short.
 * @throws MillraceError `postgres-tables-missing`
 */
export const contentOfTarget = ({ version }: Named, target: string): string =>
  `v${version}_${createHash('sha256').update(target).digest('hex').slice(0, 10)}`;

export interface Readers {
  readonly version: number;
  readonly content: string;
  readonly generation: string;
}

export async function readersOf(
  session: Session,
  { projection }: Pick<Named, 'projection'>,
): Promise<Readers | undefined> {
  const { rows } = await session.query(`SELECT version, content, generation FROM ${SCHEMA}.readers WHERE name = $1`, [
    projection,
  ]);
  const [row] = rows;
  return (
    row && { version: Number(row['version']), content: String(row['content']), generation: String(row['generation']) }
  );
}

/** Lists a content whose tables were created, or got more columns or child tables. */
export async function listContent(session: Session, of: Content, state: StoredContent['state']): Promise<void> {
  const { projection, version } = of.layout;
  await session.query(
    `INSERT INTO ${SCHEMA}.contents (name, version, content, state, made) VALUES ($1, $2::integer, $3, $4, $5::jsonb)
ON CONFLICT (name, version, content) DO UPDATE SET state = excluded.state, made = excluded.made`,
    [projection, version, of.content, state, JSON.stringify(madeOf(of))],
  );
}

export async function setState(
  session: Session,
  { projection, version }: Named,
  content: string,
  state: StoredContent['state'],
): Promise<void> {
  await session.query(
    `UPDATE ${SCHEMA}.contents SET state = $4 WHERE name = $1 AND version = $2::integer AND content = $3`,
    [projection, version, content, state],
  );
}

/** Of all contents of a projection this one alone is kept, for so long; 0: none is. */
export async function keep(session: Session, of: Readers & Pick<Named, 'projection'>, keepMs: number): Promise<void> {
  await session.query(
    `UPDATE ${SCHEMA}.contents SET kept_until =
  CASE WHEN version = $2::integer AND content = $3 AND $4::bigint > 0 THEN clock_timestamp() + $4::bigint * interval '1 millisecond' END
WHERE name = $1 AND (kept_until IS NOT NULL OR version = $2::integer AND content = $3)`,
    [of.projection, of.version, of.content, keepMs],
  );
}

export async function keptContent(
  session: Session,
  { projection }: Pick<Named, 'projection'>,
): Promise<KeptContent | undefined> {
  const { rows } = await session.query(
    `SELECT version, content, to_char(kept_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS until
FROM ${SCHEMA}.contents WHERE name = $1 AND ${KEPT}`,
    [projection],
  );
  const [row] = rows;
  return row && { version: Number(row['version']), content: String(row['content']), until: String(row['until']) };
}

export interface ListedContent extends Named, StoredContent {
  readonly made: Made;
}

/** Every content in the database, also of versions that no pipeline declares any more. Empty: there are no tables yet. */
export async function listedContents(session: Session): Promise<ListedContent[]> {
  const { rows: known } = await session.query(`SELECT 1 FROM pg_class WHERE oid = to_regclass('${SCHEMA}.contents')`);
  if (known.length === 0) return [];
  const { rows } = await session.query(
    `SELECT name, version, content, state, made, ${KEPT} AS kept FROM ${SCHEMA}.contents ORDER BY name, version, content`,
  );
  return rows.map(({ name, version, content, state, made, kept }) => ({
    projection: String(name),
    version: Number(version),
    content: String(content),
    state: state as StoredContent['state'],
    made: made as Made,
    kept: kept === true,
  }));
}

/** Gives readers a content, if they still have the generation that was read. False: they have another one. */
export async function setReaders(
  session: Session,
  { projection, version }: Named,
  content: string,
  before: Readers | undefined,
): Promise<boolean> {
  const { rowCount } = before
    ? await session.query(
        `UPDATE ${SCHEMA}.readers SET version = $2::integer, content = $3, generation = generation + 1 WHERE name = $1 AND generation = $4::bigint`,
        [projection, version, content, before.generation],
      )
    : await session.query(
        `INSERT INTO ${SCHEMA}.readers (name, version, content, generation) VALUES ($1, $2::integer, $3, 1) ON CONFLICT DO NOTHING`,
        [projection, version, content],
      );
  return rowCount === 1;
}
