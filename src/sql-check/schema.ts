// The rules of Citus for the tables themselves, and of a database whose rows all belong to tenants. Each finding has the
// statements that correct it, in their order.
import type { Catalog, Relation, SqlForeignKey, SqlTable } from './catalog.ts';
import { columnType } from './ddl/distribute.ts';

export interface SchemaFinding {
  readonly table: string;
  readonly says: string;
  /** Citus refuses the table as it is declared. */
  readonly refused: boolean;
  readonly statements: readonly string[];
}

type Relations = ReadonlyMap<string, Relation>;

/** Rows that one statement fills: few enough to hold their locks for a short time only. */
const BATCH = 10_000;

export function schemaFindings({ relations, tenant }: Catalog): SchemaFinding[] {
  const tables = tablesOf(relations);
  const found = tables.flatMap((table) => [
    ...placeFindings(relations, table),
    ...keyFindings(table),
    ...foreignFindings(relations, table),
  ]);
  const withTenant = tables.filter((table) => has(table, tenant));
  return [
    ...found,
    ...(withTenant.length === 0 ? [] : tables.flatMap((table) => tenantFindings(relations, table, tenant, withTenant))),
  ];
}

/** Tables for which it isn't known where their rows are, because Citus refuses what the DDL says. */
export function refusalsOf({ relations }: { readonly relations: Relations }): Map<string, string> {
  const refused = new Map<string, string>();
  for (const table of tablesOf(relations)) {
    const [found] = [...placeFindings(relations, table), ...keyFindings(table), ...foreignFindings(relations, table)];
    if (found) refused.set(table.name, found.says);
  }
  return refused;
}

/** A partition has what its table has. */
const tablesOf = (relations: Relations): SqlTable[] =>
  [...relations.values()].filter((each) => each.kind === 'table' && each.parent === undefined) as SqlTable[];

const has = ({ columns }: SqlTable, name: string): boolean => columns.some((column) => column.name === name);

const tableAt = (relations: Relations, name: string): SqlTable | undefined => {
  const found = relations.get(name);
  return found?.kind === 'table' ? found : undefined;
};

/** The distribution column, and the table beside which the rows are to lie. */
function placeFindings(relations: Relations, table: SqlTable): SchemaFinding[] {
  const { distribution } = table;
  if (distribution.kind !== 'distributed' || table.unclear !== undefined) return [];
  const { column, beside } = distribution;
  const say = short(table.name);
  const refuse = (says: string, statements: readonly string[]): SchemaFinding[] => [
    { table: say, says, refused: true, statements },
  ];
  if (!has(table, column)) return refuse(`${say} is distributed by ${column}, a column that it doesn’t have`, []);
  if (beside === undefined) return [];
  const other = tableAt(relations, beside);
  if (other?.distribution.kind !== 'distributed')
    return refuse(
      `${say} is to lie beside ${short(beside)}, which ${other ? 'is not distributed' : 'the DDL doesn’t have'}`,
      other ? [distributing(other, column)] : [],
    );
  const [own, theirs] = [columnType(table, column), columnType(other, other.distribution.column)];
  if (own === theirs) return [];
  return refuse(`${say} can’t lie beside ${short(beside)}: ${column} is ${own} here and ${theirs} there`, [
    `ALTER TABLE ${sqlName(table)} ALTER COLUMN ${quote(column)} TYPE ${theirs};`,
    distributing(table, column, other),
  ]);
}

function keyFindings(table: SqlTable): SchemaFinding[] {
  const { distribution } = table;
  if (distribution.kind !== 'distributed') return [];
  const { column } = distribution;
  return table.keys
    .filter(({ columns }) => !columns.includes(column))
    .map((key) => ({
      table: short(table.name),
      says: `the ${key.kind} of ${short(table.name)} (${key.columns.join(', ') || 'expressions'}) has no ${column}`,
      refused: true,
      statements: rekeyed(table, key, column),
    }));
}

/** Keys are made again with the column in front. Foreign keys that need the old ones go with them. */
function rekeyed(
  table: SqlTable,
  { kind, name, columns, expressions }: SqlTable['keys'][number],
  column: string,
): string[] {
  const wanted = list([column, ...columns]);
  const index = kind === 'unique index';
  const gone = index
    ? `DROP INDEX ${name.split('.').map(quote).join('.')};`
    : `ALTER TABLE ${sqlName(table)} DROP CONSTRAINT ${quote(name)} CASCADE;`;
  if (expressions) return [gone, `-- Make the ${kind} again, with ${column} beside its expressions.`];
  if (index) return [gone, `CREATE UNIQUE INDEX ON ${sqlName(table)} ${wanted};`];
  const sort = kind === 'primary key' ? 'PRIMARY KEY' : 'UNIQUE';
  return [gone, `ALTER TABLE ${sqlName(table)} ADD CONSTRAINT ${quote(name)} ${sort} ${wanted};`];
}

function foreignFindings(relations: Relations, table: SqlTable): SchemaFinding[] {
  return table.foreign.flatMap((key): SchemaFinding[] => {
    const other = tableAt(relations, key.to);
    const found = other && foreignFault(table, other, key);
    if (!found) return [];
    return [
      {
        table: short(table.name),
        says: `the foreign key ${key.name} of ${short(table.name)} ${found.says}`,
        refused: true,
        statements: found.statements,
      },
    ];
  });
}

function foreignFault(
  table: SqlTable,
  other: SqlTable,
  key: SqlForeignKey,
): { says: string; statements: string[] } | undefined {
  const [from, to] = [table.distribution, other.distribution];
  const name = short(other.name);
  const again = (columns: readonly string[], toColumns: readonly string[], actions: string): string[] => [
    `ALTER TABLE ${sqlName(table)} DROP CONSTRAINT IF EXISTS ${quote(key.name)};`,
    `ALTER TABLE ${sqlName(table)} ADD CONSTRAINT ${quote(key.name)} FOREIGN KEY ${list(columns)} REFERENCES ${sqlName(other)} ${list(toColumns)}${actions};`,
  ];
  const toColumns = key.toColumns ?? other.keys.find(({ kind }) => kind === 'primary key')?.columns ?? [];
  if (to.kind === 'distributed') {
    if (from.kind !== 'distributed')
      return {
        says: `leads to ${name}, which is distributed, and ${short(table.name)} is not`,
        statements: has(table, to.column) ? [distributing(table, to.column, other)] : [],
      };
    if (from.group !== to.group)
      return {
        says: `leads to ${name}, which doesn’t lie beside it`,
        statements: [undistributing(table), distributing(table, from.column, other)],
      };
    const [at, there] = [key.columns.indexOf(from.column), toColumns.indexOf(to.column)];
    if (at === -1 || at !== there) {
      const rest = key.columns.map((column, index) => [column, toColumns[index] ?? ''] as const);
      const others = rest.filter(([own, theirs]) => own !== from.column && theirs !== to.column);
      return {
        says: `leads to ${name} without ${from.column}`,
        statements: again(
          [from.column, ...others.map(([own]) => own)],
          [to.column, ...others.map(([, theirs]) => theirs)],
          key.onDelete === 'c' ? ' ON DELETE CASCADE' : '',
        ),
      };
    }
  }
  if (to.kind === 'local' && from.kind === 'distributed')
    return {
      says: `leads to ${name}, which is a local table`,
      statements: [
        has(other, from.column)
          ? distributing(other, from.column, table)
          : `SELECT create_reference_table(${literal(other)});`,
      ],
    };
  const changes = /[cnd]/.test(key.onUpdate) || /[nd]/.test(key.onDelete);
  const own = from.kind === 'distributed' && key.columns.includes(from.column) && changes;
  if (own || (from.kind === 'reference' && to.kind === 'local' && (changes || key.onDelete === 'c')))
    return {
      says: `changes rows in a way that Citus doesn’t take`,
      statements: again(key.columns, toColumns, own && key.onDelete === 'c' ? ' ON DELETE CASCADE' : ''),
    };
  return undefined;
}

/** Tables that belong to no tenant, or lie by something else. */
function tenantFindings(
  relations: Relations,
  table: SqlTable,
  tenant: string,
  others: readonly SqlTable[],
): SchemaFinding[] {
  const { distribution } = table;
  const by = distribution.kind === 'distributed' ? distribution.column : undefined;
  if (distribution.kind === 'reference' || table.unclear !== undefined || by === tenant) return [];
  const name = short(table.name);
  const isThere = has(table, tenant);
  const placed = others.find(
    (other) => other.distribution.kind === 'distributed' && other.distribution.column === tenant,
  );
  // Of a database without Citus only the column is missing.
  if (isThere && !placed) return [];
  const says = isThere
    ? `${name} is ${by === undefined ? 'not distributed' : `distributed by ${by}`}, and not by ${tenant}`
    : `${name} has no column ${tenant}${by === undefined ? '' : `, and is distributed by ${by}`}`;
  const type = columnType(placed ?? others[0]!, tenant);
  return [
    {
      table: name,
      says: `${says}; if its rows belong to no tenant: SELECT create_reference_table(${literal(table)})`,
      refused: false,
      statements: [
        ...(by === undefined ? [] : [undistributing(table)]),
        ...(isThere
          ? []
          : [
              `ALTER TABLE ${sqlName(table)} ADD COLUMN ${quote(tenant)} ${type};`,
              filling(relations, table, tenant),
              `ALTER TABLE ${sqlName(table)} ALTER COLUMN ${quote(tenant)} SET NOT NULL;`,
            ]),
        ...table.keys.filter(({ columns }) => !columns.includes(tenant)).flatMap((key) => rekeyed(table, key, tenant)),
        ...(placed ? [distributing(table, tenant, placed)] : []),
      ],
    },
  ];
}

/** The tenant comes of the row to which a foreign key leads. */
function filling(relations: Relations, table: SqlTable, tenant: string): string {
  const key = table.foreign.find(({ to }) => {
    const other = tableAt(relations, to);
    return other !== undefined && has(other, tenant);
  });
  const other = key && tableAt(relations, key.to);
  if (!other) return `-- Fill ${tenant} of ${short(table.name)}: no foreign key leads to a table that has it.`;
  const toColumns = key.toColumns ?? other.keys.find(({ kind }) => kind === 'primary key')?.columns ?? [];
  const joined = (alias: string): string =>
    key.columns
      .flatMap((column, at) => {
        const there = toColumns.filter((each) => each !== tenant || key.columns.length === toColumns.length)[at];
        return there === undefined ? [] : [`o.${quote(there)} = ${alias}.${quote(column)}`];
      })
      .join(' AND ');
  const some = `SELECT s.ctid FROM ${sqlName(table)} s JOIN ${sqlName(other)} o ON ${joined('s')} WHERE s.${quote(tenant)} IS NULL LIMIT ${BATCH}`;
  return `UPDATE ${sqlName(table)} t SET ${quote(tenant)} = o.${quote(tenant)} FROM ${sqlName(other)} o WHERE ${joined('t')} AND t.ctid = ANY (ARRAY(${some})); -- again, until it changes no row`;
}

function distributing(table: SqlTable, column: string, beside?: SqlTable): string {
  const near = beside ? `, colocate_with => ${literal(beside)}` : '';
  return `SELECT create_distributed_table(${literal(table)}, '${column.replaceAll("'", "''")}'${near});`;
}

const undistributing = (table: SqlTable): string => `SELECT undistribute_table(${literal(table)});`;

const short = (name: string): string => name.replace(/^public\./, '');
/** Words that PostgreSQL takes for no name. */
const RESERVED =
  /^(all|analyse|analyze|and|any|array|as|asc|asymmetric|both|case|cast|check|collate|column|constraint|create|default|deferrable|desc|distinct|do|else|end|except|false|fetch|for|foreign|from|grant|group|having|in|initially|intersect|into|lateral|leading|limit|localtime|localtimestamp|not|null|offset|on|only|or|order|placing|primary|references|returning|select|some|symmetric|table|then|to|trailing|true|union|unique|user|using|variadic|when|where|window|with)$/;
const quote = (name: string): string =>
  /^[a-z_][a-z0-9_]*$/.test(name) && !RESERVED.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
const sqlName = ({ name }: SqlTable): string => short(name).split('.').map(quote).join('.');
const literal = (table: SqlTable): string => `'${sqlName(table).replaceAll("'", "''")}'`;
const list = (columns: readonly string[]): string => `(${columns.map(quote).join(', ')})`;
