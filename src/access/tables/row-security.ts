// Row-level security in the database: put on the tables that views read, taken off, and its readers let in (TAB-R1 to TAB-R3).
import { type Content, SCHEMA, viewsOf } from '../../pipeline/tables/ddl.ts';
import { POLICY, securityDdl } from '../../pipeline/tables/row-security.ts';
import type { Session } from '../../postgres/database.ts';

/** Restricts the tables of a content that readers are about to have as its declaration says, or frees them. */
export async function secure(session: Session, of: Content): Promise<void> {
  const declared = of.layout.rowSecurity !== undefined;
  for (const { table } of viewsOf(of)) {
    if (!declared && !(await policyOf(session, table))) continue;
    const free = [`DROP POLICY ${POLICY} ON ${table}`, `ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY`];
    for (const statement of declared ? securityDdl(table, of.layout) : free) await session.query(statement);
  }
}

/** A restricted view reads its table with the rights of who asks. So a reader of the view may read the table. */
export async function letReadersIn(session: Session, of: Content): Promise<void> {
  if (of.layout.rowSecurity === undefined) return;
  for (const { name, table } of viewsOf(of))
    for (const reader of await shutOut(session, name, table)) {
      await session.query(`GRANT USAGE ON SCHEMA ${SCHEMA} TO ${reader}`);
      await session.query(`GRANT SELECT ON ${table} TO ${reader}`);
    }
}

/** What differs from the declaration, in words. Undefined: nothing. */
export async function securityLacking(session: Session, of: Content): Promise<string | undefined> {
  const { rowSecurity, name } = of.layout;
  for (const view of viewsOf(of)) {
    const policy = await policyOf(session, view.table);
    if (rowSecurity === undefined) {
      if (policy) return `show readers of ${name} the rows of all tenants`;
      continue;
    }
    const restricted = policy?.includes(`current_setting('${rowSecurity}'::text`) ?? false;
    if (!restricted || !(await isInvoker(session, view.name)))
      return `show readers of ${name} the rows of the tenant that ${rowSecurity} names`;
    const [reader] = await shutOut(session, view.name, view.table);
    if (reader !== undefined) return `let ${reader} read the table behind ${view.name}`;
  }
  return undefined;
}

/** The condition of a table's policy, where it is on. */
async function policyOf(session: Session, table: string): Promise<string | undefined> {
  const { rows } = await session.query(
    `SELECT pg_get_expr(p.polqual, p.polrelid) AS condition FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
WHERE p.polrelid = to_regclass($1) AND p.polname = '${POLICY}' AND c.relrowsecurity`,
    [table],
  );
  return rows[0] && String(rows[0]['condition']);
}

async function isInvoker(session: Session, view: string): Promise<boolean> {
  const { rows } = await session.query(
    `SELECT 1 FROM pg_class WHERE oid = to_regclass($1) AND 'security_invoker=true' = ANY (reloptions)`,
    [view],
  );
  return rows.length > 0;
}

/** Roles that may read the view and not its table, as they are written in a statement. */
async function shutOut(session: Session, view: string, table: string): Promise<string[]> {
  const { rows } = await session.query(
    `SELECT DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS reader
FROM pg_class v, aclexplode(v.relacl) a WHERE v.oid = to_regclass($1) AND a.privilege_type = 'SELECT' AND NOT EXISTS (
  SELECT 1 FROM pg_class t, aclexplode(coalesce(t.relacl, acldefault('r', t.relowner))) own
  WHERE t.oid = to_regclass($2) AND own.grantee = a.grantee AND own.privilege_type = 'SELECT')
ORDER BY reader`,
    [view, table],
  );
  return rows.map(({ reader }) => String(reader));
}
