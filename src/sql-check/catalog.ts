// What the check knows of a database: the tables, views and functions that its DDL declares.
import type { Node, SelectStmt } from 'libpg-query';

export interface SqlColumn {
  readonly name: string;
  /** The last part of the type's name; empty if not known. */
  readonly type: string;
  /** The column has a collation of its own, under which different texts may be equal. */
  readonly collated?: boolean;
  readonly default?: Node;
}

export type Distribution =
  | { readonly kind: 'distributed'; readonly column: string; readonly group: string }
  | { readonly kind: 'reference' }
  | { readonly kind: 'local' };

export interface SqlTable {
  readonly kind: 'table';
  readonly name: string;
  columns: readonly SqlColumn[];
  distribution: Distribution;
  /** Columns of primary keys, unique constraints and unique indexes; `undefined` for one over expressions. */
  readonly unique: (readonly string[] | undefined)[];
  /** Row-level security is on. */
  secured: boolean;
  /** Foreign keys with an action on rows of this table when rows of another one go. */
  readonly cascades: { readonly to: string; readonly columns: readonly string[] }[];
  /** Why reads of the table can't be judged, such as a rule. */
  unclear?: string;
  /** Why writes to the table can't be judged, such as a trigger. */
  unclearWrites?: string;
}

export interface SqlView {
  readonly kind: 'view';
  readonly name: string;
  readonly query: SelectStmt;
  readonly names: readonly string[];
  readonly unclear?: string;
}

export type Relation = SqlTable | SqlView;

export interface Catalog {
  /** By name with schema. */
  readonly relations: ReadonlyMap<string, Relation>;
  /** Schemas in which a name without schema is looked up. */
  readonly path: readonly string[];
  /** Names of functions, aggregates and procedures that the DDL makes. */
  readonly functions: ReadonlySet<string>;
  /** Operators and casts that the DDL makes: they may mean anything. */
  readonly operators: ReadonlySet<string>;
  /** The tenant column. */
  readonly tenant: string;
}

export function findRelation(catalog: Catalog, schema: string | undefined, name: string): Relation | undefined {
  if (schema !== undefined) return catalog.relations.get(`${schema}.${name}`);
  for (const each of catalog.path) {
    const found = catalog.relations.get(`${each}.${name}`);
    if (found) return found;
  }
  return undefined;
}
