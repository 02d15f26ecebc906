// What the tables of one projection are: names, columns, keys, and references.
import type { ColumnType, RowReference } from '../specs.ts';

export interface Column {
  readonly name: string;
  /** The field of the document or element. Absent: of the columns that Millrace adds. */
  readonly field?: string;
  readonly type: ColumnType | 'integer';
}

export interface ChildTable {
  readonly name: string;
  /** The list. */
  readonly field: string;
  /** Elements are scalars, in the column `value`. */
  readonly scalar: boolean;
  /** The column that is unique in a document: `position`, or that of the declared key. */
  readonly key: string;
  /** Without the identity of the document; `position` is the first. */
  readonly columns: readonly Column[];
  readonly extra: 'keep' | 'refuse';
}

/** A column of the identity, with the path of its value in the document. */
export interface IdentityColumn extends Column {
  readonly type: 'text' | 'bigint' | 'numeric' | 'boolean';
  /** A level of the partition key, by its number; `id`; or the tenant that is no level. */
  readonly from: number | 'id' | 'tenant';
  readonly path: string;
}

export interface TableReference {
  readonly name: string;
  readonly of: RowReference['of'];
  /** This table's column → the other document's field. */
  readonly on: Readonly<Record<string, string>>;
}

export interface TableLayout {
  readonly projection: string;
  readonly version: number;
  readonly name: string;
  /** The column of the tenant; absent: reference data. */
  readonly tenant?: IdentityColumn;
  /** The tenant is no level of the partition key, so a document may move to another one. */
  readonly movable: boolean;
  /** The primary key, the tenant first. */
  readonly identity: readonly IdentityColumn[];
  /** Of the root, without the identity. */
  readonly columns: readonly Column[];
  readonly extra: 'keep' | 'refuse';
  readonly children: readonly ChildTable[];
  readonly references: readonly TableReference[];
  readonly foreignKeys: readonly ForeignKey[];
  /** Columns whose values only one document of a tenant has. */
  readonly unique: readonly (readonly string[])[];
  /** The setting of a session that names the tenant whose rows it sees. Absent: readers see all rows. */
  readonly rowSecurity?: string;
  /** Fields that no column has: the discriminator, and the fields of the identity. */
  readonly passed: readonly string[];
}

/** A reference to the whole primary key of another table. */
export interface ForeignKey {
  readonly reference: string;
  /** The one whose table is referenced. */
  readonly projection: string;
  readonly version: number;
  readonly table: string;
  /** Of this table, in the order of `to`. The tenant is first. */
  readonly columns: readonly string[];
  /** The primary key of the other table. */
  readonly to: readonly string[];
}
