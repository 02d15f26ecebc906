// What the check knows of a database: the tables, views and functions that its DDL declares.
import type { Node, SelectStmt } from 'libpg-query';

export interface SqlColumn {
  readonly name: string;
  /** The last part of the type's name; empty if not known. */
  readonly type: string;
  /** The column has a collation of its own, under which different texts may be equal. */
  readonly collated?: boolean;
  readonly default?: Node;
  /** NOT NULL. */
  readonly required?: boolean;
}

export type Distribution =
  | {
      readonly kind: 'distributed';
      readonly column: string;
      readonly group: string;
      /** The table that `colocate_with` names. */
      readonly beside?: string;
    }
  | { readonly kind: 'reference' }
  | { readonly kind: 'local' };

export interface SqlKey {
  readonly kind: 'primary key' | 'unique constraint' | 'unique index' | 'exclusion constraint';
  /** With the schema of its table, if it is an index. */
  readonly name: string;
  /** Columns whose equality the key needs, without those inside expressions. */
  readonly columns: readonly string[];
  readonly expressions: boolean;
}

export interface SqlForeignKey {
  readonly name: string;
  readonly columns: readonly string[];
  readonly to: string;
  /** Absent: the primary key. */
  readonly toColumns?: readonly string[];
  /** What happens to these rows when a row of the other table goes, or its key changes: `a` nothing, `r`, `c`, `n`, `d`. */
  readonly onDelete: string;
  readonly onUpdate: string;
}

export interface SqlTable {
  readonly kind: 'table';
  readonly name: string;
  readonly columns: readonly SqlColumn[];
  readonly distribution: Distribution;
  readonly keys: readonly SqlKey[];
  readonly foreign: readonly SqlForeignKey[];
  /** Row-level security is on. */
  readonly secured: boolean;
  /** The table of which it is a partition. */
  readonly parent?: string;
  /** Why reads of the table can't be judged, such as a rule. */
  readonly unclear?: string;
  /** Why writes to the table can't be judged, such as a trigger. */
  readonly unclearWrites?: string;
}

export interface SqlView {
  readonly kind: 'view';
  readonly name: string;
  readonly query: SelectStmt;
  readonly names: readonly string[];
  /** What the names without schema stood for when the view was made. */
  readonly bound: ReadonlyMap<string, string>;
  readonly unclear?: string;
}

export type Relation = SqlTable | SqlView;

export interface Names {
  /** By name with schema. */
  readonly relations: ReadonlyMap<string, Relation>;
  /** Schemas in which a name without schema is looked up, after that of temporary tables. */
  readonly path: readonly string[];
}

export interface Catalog extends Names {
  /** Names of functions, aggregates and procedures that the DDL makes. */
  readonly functions: ReadonlySet<string>;
  /** Operators and casts that the DDL makes: they may mean anything. */
  readonly operators: ReadonlySet<string>;
  /** The tenant column. */
  readonly tenant: string;
  /** Tables that Citus refuses to distribute as the DDL says, each with the reason. */
  readonly refused: ReadonlyMap<string, string>;
}

export const TEMPORARY = 'pg_temp';

export function findRelation(
  { relations, path }: Names,
  schema: string | undefined,
  name: string,
): Relation | undefined {
  for (const each of schema === undefined ? [TEMPORARY, ...path] : [schema]) {
    const found = relations.get(`${each}.${name}`);
    if (found) return found;
  }
  return undefined;
}
