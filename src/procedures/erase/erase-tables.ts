// The tenant's rows in PostgreSQL.
import { removeTenantRows, rowsWith, undeletable } from '../../access/tables/remove-tenant-rows.ts';
import { type Count, type EraseParts, all } from './erase-options.ts';

type Parts = Pick<EraseParts, 'loaded' | 'tables' | 'asked' | 'signal'>;

/** Undefined: the pipeline has no tables. */
function rowsOf({ loaded, tables: database, asked, signal }: Parts) {
  const projections = new Set(loaded.pipeline.effects.flatMap(({ kind, name }) => (kind === 'table' ? [name] : [])));
  return database && projections.size > 0
    ? { database, projections: [...projections], tenant: asked.tenant, signal }
    : undefined;
}

/** Removes the tenant's rows from every content of the pipeline's tables, with the guards of deleted documents. */
export async function removeRows(count: Count, parts: Parts): Promise<void> {
  const rows = rowsOf(parts);
  if (rows) await removeTenantRows(rows, (table, removed) => count(table, all(removed)));
}

/** Tables of which this identity may not delete. */
export async function deniedTables(parts: Parts): Promise<string[]> {
  const rows = rowsOf(parts);
  return rows ? undeletable(rows) : [];
}

/** Each row that has the tenant's name in it; `own`: it is the tenant's. */
export async function* namedRows(
  parts: Parts,
): AsyncGenerator<{ readonly table: string; readonly cells: readonly unknown[]; readonly own: boolean }> {
  const { tenant, rule } = parts.asked;
  const rows = rowsOf(parts);
  if (!rows) return;
  // JSON within JSON is escaped twice. A tenant that is a number is named by a whole text alone.
  const once = JSON.stringify(tenant);
  const texts =
    rule.kind === 'number' ? [once] : [...new Set([once.slice(1, -1), JSON.stringify(once.slice(1, -1)).slice(1, -1)])];
  for await (const { table, row, tenants } of rowsWith(rows, texts))
    yield { table, cells: Object.values(row), own: tenants.includes(tenant) };
}
