// Guards: one row for each document, with the version that the tables have. A transaction writes them first, and replaces
// the rows of those documents whose guard went forward.
import { CLOCK_SKEW_MS, TOMBSTONE_TTL_S } from '../../base/bounds.ts';
import type { TableEntry } from '../../pipeline/specs.ts';
import { type Content, guardsName } from '../../pipeline/tables/ddl.ts';
import type { Session } from '../../postgres/database.ts';
import { portions, valuesOf } from './statements.ts';

/** An entry whose place is read as values of columns. */
export interface PlacedRow {
  readonly entry: TableEntry;
  /** Undefined: reference data, or a deletion that doesn't say whose document it was. */
  readonly tenant: unknown;
  /** The columns of the identity without the tenant. */
  readonly identity: readonly unknown[];
  /** Other tenants whose rows of the document are removed. */
  readonly strayed?: readonly unknown[];
}

/** An entry that is to be written; `was`: the tenant that the document left, of tables whose documents may move. */
export interface Advanced extends PlacedRow {
  readonly was?: string | null;
}

export interface Guarded {
  readonly advanced: readonly Advanced[];
  /** Stored under the same lsn with another ETag, with that ETag. */
  readonly undecided: ReadonlyMap<PlacedRow, string>;
}

const VERSION = ['epoch', 'lsn', 'turn'] as const;

/** Columns come as text. */
const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** `00000001-0000000000000017-1` → 1, 17, 1. */
const partsOf = (version: string): string[] => version.split('-').map((part) => String(BigInt(part)));

/** Writes the guards of entries of one tenant, in the order of their ids, so that two transactions wait in one order. */
export async function advance(
  session: Session,
  of: Content,
  entries: readonly PlacedRow[],
  now: Date,
): Promise<Guarded> {
  const { tenant, movable } = of.layout;
  const guards = guardsName(of);
  const named = tenant ? ['tenant'] : [];
  const types = [...(tenant ? [tenant.type] : []), 'text', 'bigint', 'bigint', 'smallint', 'text', 'timestamptz'];
  const columns = [...named, 'id', ...VERSION, 'etag', 'gone'];
  const moved = movable ? ['was = g.tenant', 'tenant = coalesce(excluded.tenant, g.tenant)'] : [];
  const set = [...moved, ...[...VERSION, 'etag', 'gone'].map((name) => `${name} = excluded.${name}`)];
  const key = tenant && !movable ? 'tenant, id' : 'id';
  const sorted = entries.toSorted((a, b) => (a.entry.id < b.entry.id ? -1 : 1));
  const advanced: Advanced[] = [];
  const undecided = new Map<PlacedRow, string>();
  for (const some of portions(sorted, columns.length)) {
    const rows = some.map(({ entry, tenant: value }) => [
      ...(tenant ? [value ?? null] : []),
      entry.id,
      ...partsOf(entry.version),
      entry.etag,
      entry.row === null ? now.toISOString() : null,
    ]);
    const values = valuesOf(rows, types);
    const { rows: written } = await session.query(
      `INSERT INTO ${guards} AS g (${columns.join(', ')}) VALUES ${values.sql}
ON CONFLICT (${key}) DO UPDATE SET ${set.join(', ')}
WHERE (excluded.epoch, excluded.lsn, excluded.turn) > (g.epoch, g.lsn, g.turn)
RETURNING id${movable ? ', was' : ''}`,
      values.values,
    );
    const by = new Map(written.map((row) => [String(row['id']), row]));
    for (const one of some) {
      const row = by.get(one.entry.id);
      if (row) advanced.push(movable ? { ...one, was: textOrNull(row['was']) } : one);
    }
    const behind = some.filter(({ entry }) => !by.has(entry.id));
    for (const [one, etag] of await sameVersion(session, of, behind)) undecided.set(one, etag);
  }
  return { advanced, undecided };
}

/** Of entries whose guards did not go forward, those that are stored under an equal version with another ETag. */
async function sameVersion(
  session: Session,
  of: Content,
  behind: readonly PlacedRow[],
): Promise<Map<PlacedRow, string>> {
  const found = new Map<PlacedRow, string>();
  const [first] = behind;
  if (!first) return found;
  const { tenant, movable } = of.layout;
  const keyed = tenant && !movable;
  const { rows } = await session.query(
    `SELECT id, epoch, lsn, turn, etag FROM ${guardsName(of)} WHERE id = ANY ($1::text[])${keyed ? ` AND tenant = $2::${tenant.type}` : ''}`,
    [behind.map(({ entry }) => entry.id), ...(keyed ? [first.tenant] : [])],
  );
  const by = new Map(rows.map((row) => [String(row['id']), row]));
  for (const one of behind) {
    const row = by.get(one.entry.id);
    const equal = row && partsOf(one.entry.version).every((part, at) => part === row[VERSION[at] ?? '']);
    if (equal && row['etag'] !== one.entry.etag) found.set(one, String(row['etag']));
  }
  return found;
}

/**
 * Writes the guard of an entry that the source decided for, where the guard has the same lsn and the other ETag. Undefined:
 * it has changed since.
 */
export async function decide(
  session: Session,
  of: Content,
  one: PlacedRow,
  other: string,
  now: Date,
): Promise<Advanced | undefined> {
  const { tenant, movable } = of.layout;
  const keyed = tenant && !movable;
  const [epoch, lsn, turn] = partsOf(one.entry.version);
  const gone = one.entry.row === null ? now.toISOString() : null;
  const values = [one.entry.id, epoch, lsn, turn, other, one.entry.etag, gone, ...(tenant ? [one.tenant ?? null] : [])];
  const moved = movable ? `was = tenant, tenant = coalesce($8::${tenant?.type}, tenant), ` : '';
  const { rows } = await session.query(
    `UPDATE ${guardsName(of)} SET ${moved}etag = $6, gone = $7::timestamptz
WHERE id = $1 AND epoch = $2::bigint AND lsn = $3::bigint AND turn = $4::smallint AND etag = $5${keyed ? ` AND tenant = $8::${tenant.type}` : ''}
RETURNING id${movable ? ', was' : ''}`,
    values,
  );
  const [row] = rows;
  return row && (movable ? { ...one, was: textOrNull(row['was']) } : one);
}

/**
 * Removes guards of documents that were deleted longer ago than T: of one tenant, where rows that others have locked stay,
 * or of all. Resolves with their number.
 */
export async function prune(
  session: Session,
  of: Content,
  now: Date,
  only?: { readonly tenant: unknown },
): Promise<number> {
  const { tenant, movable } = of.layout;
  const keyed = only && tenant && !movable;
  const own = keyed ? `tenant = $2::${tenant.type} AND ` : '';
  // Citus locks no rows over several nodes.
  const which =
    movable || !only
      ? 'gone < $1::timestamptz'
      : `${own}id IN (
  SELECT id FROM ${guardsName(of)} WHERE ${own}gone < $1::timestamptz FOR UPDATE SKIP LOCKED)`;
  const values = [oldest(now), ...(keyed ? [only.tenant] : [])];
  const { rowCount } = await session.query(`DELETE FROM ${guardsName(of)} WHERE ${which}`, values);
  return rowCount ?? 0;
}

/** How many guards `prune` would remove. */
export async function countOld(session: Session, of: Content, now: Date): Promise<number> {
  const { rows } = await session.query(`SELECT count(*) AS old FROM ${guardsName(of)} WHERE gone < $1::timestamptz`, [
    oldest(now),
  ]);
  return Number(rows[0]?.['old']);
}

const oldest = (now: Date): string => new Date(now.getTime() - TOMBSTONE_TTL_S * 1_000 - CLOCK_SKEW_MS).toISOString();
