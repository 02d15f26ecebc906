// Statements with many rows as parameters. They are written out as VALUES, because Citus sends those to one node, as it
// does not with rows of a function such as unnest.

/** The protocol counts parameters in 16 bits. */
const MOST_PARAMETERS = 60_000;
const MOST_ROWS = 1_000;

export interface Statement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** The parts of a list whose rows, of so many columns, fit into a statement. */
export function* portions<T>(rows: readonly T[], columns: number): Generator<readonly T[]> {
  const size = Math.max(1, Math.min(MOST_ROWS, Math.floor(MOST_PARAMETERS / Math.max(1, columns))));
  for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size);
}

/** `($1::text, $2::bigint), ($3::text, …)` for rows of columns with these types. */
export function valuesOf(rows: readonly (readonly unknown[])[], types: readonly string[]): Statement {
  const values: unknown[] = [];
  const lines = rows.map(
    (row) =>
      `(${row
        .map((value, at) => {
          values.push(value);
          return `$${values.length}::${types[at]}`;
        })
        .join(', ')})`,
  );
  return { sql: lines.join(', '), values };
}

/** `a = $1 AND (b, c) IN (…)`: the rows of some documents of one tenant, or of all tenants where `tenant` is absent. */
export function whereOf(
  tenant: { readonly name: string; readonly type: string; readonly value: unknown } | undefined,
  columns: readonly { readonly name: string; readonly type: string }[],
  rows: readonly (readonly unknown[])[],
): Statement {
  const names = columns.map(({ name }) => name).join(', ');
  const listed = valuesOf(
    rows,
    columns.map(({ type }) => type),
  );
  if (!tenant) return { sql: `(${names}) IN (${listed.sql})`, values: listed.values };
  const values = [...listed.values, tenant.value];
  const own = `${tenant.name} = $${values.length}::${tenant.type}`;
  return columns.length === 0
    ? { sql: `${tenant.name} = $1::${tenant.type}`, values: [tenant.value] }
    : { sql: `${own} AND (${names}) IN (${listed.sql})`, values };
}
