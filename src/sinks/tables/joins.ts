// Which tables' rows depend on rows of other tables, as the database lists it: hosts with another pipeline have to know too.
import { createHash } from 'node:crypto';
import { type Content, SCHEMA, constraintsOf, tableName, uniqueColumns } from '../../definition/tables/ddl.ts';
import type { ForeignKey, TableLayout } from '../../definition/tables/table-layout.ts';
import { postgresError } from '../../postgres/errors.ts';
import type { Session } from '../../postgres/database.ts';
import { JOINED, lockNumber } from './contents.ts';

/** The contents with rules between documents that hosts write, and what readers have. */
export class Joins {
  readonly #joined: readonly Content[];
  readonly #shown: ReadonlyMap<string, string>;

  private constructor(joined: readonly Content[], shown: ReadonlyMap<string, string>) {
    this.#joined = joined;
    this.#shown = shown;
  }

  static async read(session: Session): Promise<Joins> {
    const { rows } = await session.query(
      `SELECT content, made->'layout' AS layout FROM ${SCHEMA}.contents
WHERE ${JOINED} ORDER BY name, version, content`,
    );
    const joined = rows.map(({ content, layout }) => ({ layout: layout as TableLayout, content: String(content) }));
    if (joined.length === 0) return new Joins([], new Map());
    const { rows: readers } = await session.query(`SELECT name, content FROM ${SCHEMA}.readers`);
    return new Joins(joined, new Map(readers.map(({ name, content }) => [String(name), String(content)])));
  }

  /** Contents whose rows name rows of this one. Foreign keys lead to what readers have. */
  dependentsOf({ layout, content }: Content): Content[] {
    if (this.#shown.get(layout.projection) !== content) return [];
    return this.#joined.filter((one) => one.layout.foreignKeys.some((key) => key.projection === layout.projection));
  }

  /**
   * This content and those whose rows change with its rows: each once, before those that depend on it. No ring is declared,
   * so there is such an order.
   */
  concerned(of: Content): Content[] {
    const [seen, found] = [new Set<string>(), [] as Content[]];
    const visit = (one: Content): void => {
      const place = `${one.layout.projection} ${one.content}`;
      if (seen.has(place)) return;
      seen.add(place);
      for (const dependent of this.dependentsOf(one)) visit(dependent);
      found.unshift(one);
    };
    visit(of);
    return found;
  }

  /** @throws MillraceError `postgres-tables-missing` */
  tableOf({ projection, table }: ForeignKey): string {
    const content = this.#shown.get(projection);
    if (content !== undefined) return tableName(table, content);
    throw postgresError('postgres-tables-missing', `There are no tables of ${projection} yet`);
  }

  constraints(of: Content) {
    return constraintsOf(of, (key) => this.tableOf(key));
  }

  /** Why a waiting row `w` waits, as a condition: another document is missing, or has its values. */
  blocked(of: Content): string {
    const { layout, content } = of;
    const equal = (alias: string, theirs: readonly string[], own: readonly string[]): string =>
      theirs.map((name, at) => `${alias}.${name} = w.${own[at]}`).join(' AND ');
    return [
      ...layout.foreignKeys.map((key) => {
        const named = key.columns.map((name) => `w.${name} IS NOT NULL`).join(' AND ');
        return `(${named} AND NOT EXISTS (SELECT 1 FROM ${this.tableOf(key)} p WHERE ${equal('p', key.to, key.columns)}))`;
      }),
      ...layout.unique.map((of_) => {
        const columns = uniqueColumns(layout, of_);
        return `EXISTS (SELECT 1 FROM ${tableName(layout.name, content)} r WHERE ${equal('r', columns, columns)})`;
      }),
    ].join(' OR ');
  }
}

/**
 * For a transaction that writes rows of one tenant. Undefined: no rule concerns it. Of transactions that may change the
 * same tenant's rows of one projection only one goes on at a time, so none misses what another one brings (TAB-J2). All
 * wait in one order.
 * @throws MillraceError `postgres-unreachable`: contents are being changed
 */
export async function joinsFor(session: Session, of: Content, tenant: unknown): Promise<Joins | undefined> {
  const before = await Joins.read(session);
  const { foreignKeys, unique, projection } = of.layout;
  if (before.dependentsOf(of).length === 0 && foreignKeys.length === 0 && unique.length === 0) return undefined;
  const concerned = new Set(before.concerned(of).map(({ layout }) => layout.projection));
  for (const other of concerned) {
    if (other === projection) continue;
    // Waiting here while another lock is held could be in a ring with a process that switches contents.
    const { rows } = await session.query(
      `SELECT pg_try_advisory_xact_lock_shared(${lockNumber({ projection: other })}) AS got`,
    );
    if (rows[0]?.['got'] !== true) throw changing(other);
  }
  const locks = [...concerned].map((name) => rowsLock(name, tenant)).toSorted((a, b) => (a < b ? -1 : 1));
  for (const lock of locks) await session.query(`SELECT pg_advisory_xact_lock(${lock})`);
  const joins = await Joins.read(session);
  const missed = joins.concerned(of).find(({ layout }) => !concerned.has(layout.projection));
  if (missed) throw changing(missed.layout.projection);
  return joins;
}

const changing = (projection: string): Error =>
  postgresError('postgres-unreachable', `The tables of ${projection} are being changed`);

const rowsLock = (projection: string, tenant: unknown): bigint =>
  createHash('sha256')
    .update(`millrace.rows ${projection} ${JSON.stringify(tenant ?? null)}`)
    .digest()
    .readBigInt64BE();
