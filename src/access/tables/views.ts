// The views that readers query. A switch keeps their grants and their owner.
import { type TableView, viewHead } from '../../pipeline/tables/ddl.ts';
import { literal } from '../../pipeline/tables/literal.ts';
import type { Session } from '../../postgres/database.ts';
import { sinksError } from '../errors.ts';

/**
 * Lets a view read another table. Where the columns differ the view is made again, with its grants and its owner; views
 * that others made on it would break, so they are named.
 * @throws MillraceError `tables-view-used`
 */
export async function switchView(session: Session, view: TableView): Promise<void> {
  const columns = await columnsOf(session, view.name);
  if (columns === undefined || columns.every(({ name }, at) => name === view.columns[at])) {
    if (await replaced(session, view)) return;
  }
  await assertUnused(session, view.name);
  const { rows } = await session.query(
    `SELECT pg_get_userbyid(c.relowner) AS owner, a.privilege_type AS privilege, a.is_grantable AS grantable,
  CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS grantee
FROM pg_class c LEFT JOIN LATERAL aclexplode(c.relacl) a ON true WHERE c.oid = to_regclass($1)`,
    [view.name],
  );
  await session.query(`DROP VIEW IF EXISTS ${view.name}`);
  await session.query(`CREATE ${viewHead(view)} ${view.select}`);
  for (const { privilege, grantee, grantable } of rows)
    if (privilege !== null)
      await session.query(
        `GRANT ${textOf(privilege)} ON ${view.name} TO ${textOf(grantee)}${grantable === true ? ' WITH GRANT OPTION' : ''}`,
      );
  const [first] = rows;
  if (first)
    await session.query(
      `DO $$ BEGIN IF current_user <> ${literal(textOf(first['owner']))} THEN EXECUTE format('ALTER VIEW ${view.name} OWNER TO %I', ${literal(textOf(first['owner']))}); END IF; END $$`,
    );
}

/** False: a column has another type, so the view has to be made again. */
async function replaced(session: Session, view: TableView): Promise<boolean> {
  await session.query('SAVEPOINT replacing');
  try {
    await session.query(`CREATE OR REPLACE ${viewHead(view)} ${view.select}`);
    await session.query('RELEASE SAVEPOINT replacing');
    return true;
  } catch (error) {
    // 42P16: invalid table definition.
    if (!(error instanceof Error && 'code' in error && error.code === '42P16')) throw error;
    await session.query('ROLLBACK TO SAVEPOINT replacing');
    return false;
  }
}

/** @throws MillraceError `tables-view-used` */
async function assertUnused(session: Session, name: string): Promise<void> {
  const { rows } = await session.query(
    `SELECT DISTINCT r.ev_class::regclass::text AS used FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid
WHERE d.refobjid = to_regclass($1) AND d.classid = 'pg_rewrite'::regclass AND r.ev_class <> d.refobjid`,
    [name],
  );
  const [first] = rows;
  if (!first) return;
  const all = rows.map(({ used }) => String(used)).join(', ');
  throw sinksError('tables-view-used', `The view ${name} gets other columns, but ${all} reads it`);
}

/** Undefined: there is no such view. */
async function columnsOf(session: Session, name: string): Promise<{ readonly name: string }[] | undefined> {
  const { rows } = await session.query(
    `SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [name],
  );
  return rows.length === 0 ? undefined : rows.map((row) => ({ name: String(row['name']) }));
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
