// The statements that make the tables of a projection, for PostgreSQL alone and with the Citus extension.
import type { ChildTable, Column, ForeignKey, TableLayout } from './table-layout.ts';

/** Tables, guards and what Millrace knows about them. Readers have views in the schema that they search. */
export const SCHEMA = 'millrace';

export interface DdlOptions {
  /** The extension distributes tables by their tenant, and copies reference data to every node. */
  readonly citus: boolean;
}

/** The tables of one content of a projection: its live one, or one that is being filled. */
export interface Content {
  readonly layout: TableLayout;
  /** What its tables' names end in. */
  readonly content: string;
}

/** The content that a version has from the beginning. */
export const firstContent = ({ version }: Pick<TableLayout, 'version'>): string => `v${version}`;

export const tableName = (name: string, content: string): string => `${SCHEMA}.${name}_${content}`;
export const guardsName = ({ layout, content }: Content): string => tableName(layout.name, `${content}_guards`);

/** What Millrace has once a database. Statements may be run again. */
export function commonDdl(layouts: readonly TableLayout[], { citus }: DdlOptions): string[] {
  const tenants = layouts.find(({ tenant }) => tenant)?.tenant;
  return [
    `CREATE SCHEMA IF NOT EXISTS ${SCHEMA}`,
    `CREATE TABLE IF NOT EXISTS ${SCHEMA}.contents (
  name text NOT NULL, version integer NOT NULL, content text NOT NULL,
  state text NOT NULL CHECK (state IN ('filling', 'live', 'retired')), since timestamptz NOT NULL DEFAULT now(),
  made jsonb NOT NULL, kept_until timestamptz,
  PRIMARY KEY (name, version, content))`,
    `CREATE TABLE IF NOT EXISTS ${SCHEMA}.readers (
  name text PRIMARY KEY, version integer NOT NULL, content text NOT NULL, generation bigint NOT NULL)`,
    ...(citus
      ? [
          `SELECT create_reference_table('${SCHEMA}.contents')`,
          `SELECT create_reference_table('${SCHEMA}.readers')`,
          ...(tenants
            ? [
                `CREATE TABLE IF NOT EXISTS ${SCHEMA}.tenants (tenant ${tenants.type} PRIMARY KEY)`,
                `SELECT create_distributed_table('${SCHEMA}.tenants', 'tenant', colocate_with => 'none')`,
              ]
            : []),
        ]
      : []),
  ];
}

/** Tables with their primary keys, and the guards: what a content needs to be filled. */
export function contentDdl(of: Content, { citus }: DdlOptions): string[] {
  const { layout, content } = of;
  const root = tableName(layout.name, content);
  const keys = layout.identity.map(({ name }) => name);
  const tables = [
    createTable(
      root,
      [
        ...layout.identity.map(notNull),
        ...layout.columns.map(columnDdl),
        ...uniqueConstraints(of).map(({ sql }) => sql),
      ],
      keys,
    ),
    ...layout.children.map((child) =>
      createTable(
        tableName(child.name, content),
        [...layout.identity.map(notNull), ...child.columns.map((one) => childColumn(child, one))],
        [...keys, child.key],
      ),
    ),
  ];
  const names = [root, ...layout.children.map(({ name }) => tableName(name, content))];
  return [...tables, guardsDdl(of), ...(citus ? distribution(of, names) : [])];
}

function distribution(of: Content, names: readonly string[]): string[] {
  const { tenant, movable } = of.layout;
  const guards = guardsName(of);
  if (!tenant) return [...names, guards].map((name) => `SELECT create_reference_table('${name}')`);
  const byTenant = (name: string): string =>
    `SELECT create_distributed_table('${name}', '${tenant.name}', colocate_with => '${SCHEMA}.tenants')`;
  return [
    ...names.map(byTenant),
    movable
      ? `SELECT create_distributed_table('${guards}', 'id', colocate_with => 'none')`
      : `SELECT create_distributed_table('${guards}', 'tenant', colocate_with => '${SCHEMA}.tenants')`,
  ];
}

/**
 * One row for each document that was seen, deleted ones included. It is written first, and only if it goes forward are
 * the rows of the document replaced.
 */
function guardsDdl(of: Content): string {
  const { tenant, movable } = of.layout;
  const named = tenant
    ? [`tenant ${tenant.type}${movable ? '' : ' NOT NULL'}`, ...(movable ? [`was ${tenant.type}`] : [])]
    : [];
  return createTable(
    guardsName(of),
    [
      ...named,
      'id text NOT NULL',
      'epoch bigint NOT NULL',
      'lsn bigint NOT NULL',
      'turn smallint NOT NULL',
      'etag text NOT NULL',
      'gone timestamptz',
    ],
    tenant && !movable ? ['tenant', 'id'] : ['id'],
  );
}

/** What only readers need, once the content is filled. Each statement stands alone, as Citus wants it. */
export function finishingDdl({ layout, content }: Content): string[] {
  const keys = layout.identity.map(({ name }) => name).join(', ');
  const root = tableName(layout.name, content);
  return [
    ...layout.children.map(
      (child) =>
        `ALTER TABLE ${tableName(child.name, content)} ADD CONSTRAINT ${child.name}_of_${layout.name}_fkey FOREIGN KEY (${keys}) REFERENCES ${root} (${keys}) ON DELETE CASCADE`,
    ),
    ...layout.references
      .map((reference) => referenceColumns(layout, reference))
      .filter((columns) => !columns.every((name, at) => name === layout.identity[at]?.name))
      .map((columns) => `CREATE INDEX ON ${root} (${columns.join(', ')})`),
  ];
}

export interface Constraint {
  readonly name: string;
  readonly sql: string;
}

/** Values that only one document of a tenant has. PostgreSQL refuses another document with them, and its change is parked. */
export const uniqueConstraints = ({ layout, content }: Content): Constraint[] =>
  layout.unique.map((columns, at) => {
    const name = `${layout.name}_${content}_u${at + 1}`;
    const tenant = layout.tenant?.name;
    const within = [...(tenant === undefined ? [] : [tenant]), ...columns.filter((one) => one !== tenant)];
    return { name, sql: `CONSTRAINT ${name} UNIQUE (${within.join(', ')})` };
  });

/** What a server has that can declare a foreign key that it doesn't enforce. */
export const NOT_ENFORCED_FROM = 180_000;

/** A reference as a foreign key that documents itself and refuses nothing. `table`: what readers have of the other projection. */
export function foreignKeyDdl({ layout, content }: Content, key: ForeignKey, table: string): Constraint {
  const name = `${layout.name}_${content}_f${layout.foreignKeys.indexOf(key) + 1}`;
  const { columns, to } = key;
  return {
    name,
    sql: `ALTER TABLE ${tableName(layout.name, content)} ADD CONSTRAINT ${name} FOREIGN KEY (${columns.join(', ')}) REFERENCES ${table} (${to.join(', ')}) NOT ENFORCED`,
  };
}

/** The columns that name a referenced document, the tenant first. */
export function referenceColumns(layout: TableLayout, { on }: TableLayout['references'][number]): string[] {
  const own = Object.keys(on);
  const tenant = layout.tenant?.name;
  return tenant === undefined ? own : [tenant, ...own.filter((name) => name !== tenant)];
}

export interface TableView {
  readonly name: string;
  /** What it reads. */
  readonly table: string;
  readonly columns: readonly string[];
  readonly select: string;
  /** It reads its table with the rights of who asks, so that row-level security restricts them. */
  readonly invoker: boolean;
}

/** The text before a view's SELECT. */
export const viewHead = ({ name, invoker }: Pick<TableView, 'name' | 'invoker'>): string =>
  `VIEW ${name}${invoker ? ' WITH (security_invoker = true)' : ''} AS`;

/** A view for each table, by the name that readers use. */
export function viewsOf({ layout, content }: Content): TableView[] {
  const identity = layout.identity.map(({ name }) => name);
  const view = (name: string, columns: readonly string[]): TableView => ({
    name,
    table: tableName(name, content),
    invoker: layout.rowSecurity !== undefined,
    columns: [...columns],
    select: `SELECT ${columns.join(', ')} FROM ${tableName(name, content)}`,
  });
  return [
    view(layout.name, [...identity, ...layout.columns.map(({ name }) => name)]),
    ...layout.children.map((child) => view(child.name, [...identity, ...child.columns.map(({ name }) => name)])),
  ];
}

const createTable = (name: string, columns: readonly string[], key: readonly string[]): string =>
  `CREATE TABLE ${name} (\n  ${[...columns, `PRIMARY KEY (${key.join(', ')})`].join(',\n  ')})`;

export const columnDdl = ({ name, type }: Pick<Column, 'name' | 'type'>): string => `${name} ${type}`;
const notNull = (column: Pick<Column, 'name' | 'type'>): string => `${columnDdl(column)} NOT NULL`;
const childColumn = (child: ChildTable, column: Column): string =>
  column.name === child.key || (column.field === undefined && column.type === 'integer')
    ? notNull(column)
    : columnDdl(column);
