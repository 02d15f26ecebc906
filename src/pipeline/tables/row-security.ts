// Row-level security: PostgreSQL itself shows readers the rows of the tenant that their session names, and no others.
import type { TableLayout } from './table-layout.ts';

export const POLICY = 'millrace_tenant';

/** Two names with a dot, as PostgreSQL wants settings of applications. */
export const isSetting = (name: unknown): name is string =>
  typeof name === 'string' && /^[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*$/.test(name);

/**
 * What restricts a table; run again it restricts it again. Without the setting no row is shown: it is NULL before a session
 * has set it, and empty after the transaction of its SET LOCAL.
 */
export function securityDdl(table: string, { tenant, rowSecurity }: TableLayout): string[] {
  if (!tenant || rowSecurity === undefined) return [];
  return [
    `ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`,
    `DROP POLICY IF EXISTS ${POLICY} ON ${table}`,
    `CREATE POLICY ${POLICY} ON ${table} FOR SELECT USING (${tenant.name} = nullif(current_setting('${rowSecurity}', true), '')::${tenant.type})`,
  ];
}
