import type {
  ChildOption,
  ColumnOption,
  ColumnType,
  Doc,
  Finding,
  RowReference,
  SourceRef,
  TableSpec,
} from '../specs.ts';
import {
  type Declaration,
  deleteFindings,
  error,
  lagFindings,
  nameFindings,
  onlyBeginning,
  plain,
} from '../declaration.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { snake } from '../tables/names.ts';
import { isSetting } from '../tables/row-security.ts';
import type { On, Type } from '../types.ts';

/** A type, or a name and a type. */
type ColumnGiven = ColumnType | ColumnOption;
type ColumnsGiven<D> = { readonly [K in keyof D & string]?: ColumnGiven };
type Lists<S> = { [K in keyof S]-?: NonNullable<S[K]> extends readonly unknown[] ? K : never }[keyof S] & string;
type ElementOf<L> = NonNullable<L> extends readonly (infer E)[] ? E : never;

/** A list that becomes a table. */
export interface ChildGiven<E> {
  /** Default: the table's name, `_` and the list's. */
  readonly into?: string;
  /** Field that is unique among the elements of a document. Default: the position is the key. */
  readonly key?: keyof E & string;
  /** Types and names of its columns, as those of the table. */
  readonly columns?: ColumnsGiven<E>;
  /** Fields of an element that no column is for: in one `extra jsonb` (default), or the change is parked. */
  readonly extra?: 'keep' | 'refuse';
}

/**
 * A document that a row names. Both sides may come and go: `millrace projections verify` names rows whose other document is
 * missing. Where `on` names the whole key of the other document, PostgreSQL 18 gets a foreign key that it doesn't enforce.
 */
export interface ReferenceGiven<P extends object, S> {
  /** The type of the other document. */
  readonly of: Type<P>;
  /** The other document's field → this document's. */
  readonly on: On<P, S>;
}

/** What `table` takes; S source, R the referenced documents. */
export interface TableOptions<S extends object, R extends Record<string, object>> {
  /** The documents that become rows. */
  readonly from: Type<S>;
  /** The name of the view that readers query: a-z, 0-9 and _. */
  readonly into: string;
  /** A whole number from 1 on; default 1. Another version is another projection with its own state. */
  readonly version?: number;
  /** How far behind it may be, as `5 s`, `2 min`, `1 h`, `1 d`. */
  readonly maxLag?: string;
  /** What a document's delete marker does to its rows. `remove` (default): Millrace removes them. `keep`: they stay. */
  readonly onDelete?: 'remove' | 'keep';
  /** Only documents for which it returns true. Pure. */
  readonly where?: (doc: S) => boolean;
  /** Types and names where the model's examples don't say what is wanted. */
  readonly columns?: ColumnsGiven<S>;
  /** Fields that no column is for: in one `extra jsonb` (default), or the change is parked. */
  readonly extra?: 'keep' | 'refuse';
  /** Lists that become tables of their own. Other lists and objects are `jsonb`. */
  readonly children?: { readonly [K in Lists<S>]?: ChildGiven<ElementOf<S[K]>> };
  /** Documents that a row names, under a name of yours. */
  readonly references?: { readonly [K in keyof R]: ReferenceGiven<R[K], S> };
  /** Fields whose values, together, only one document of a tenant has. A change with values that are taken is parked. */
  readonly unique?: readonly (readonly (keyof S & string)[])[];
  /**
   * Row-level security: PostgreSQL shows readers the rows of the tenant that this setting of their session names, such as
   * `app.store`, and without it none. Needs PostgreSQL 15.
   */
  readonly rowSecurity?: string;
  /** It derives from every source document, so it begins at the beginning. */
  readonly start?: 'beginning';
}

/** The same without the user's types. */
interface Untyped {
  readonly from: SourceRef;
  readonly into: string;
  readonly version?: number;
  readonly maxLag?: string;
  readonly onDelete?: 'remove' | 'keep';
  readonly where?: (doc: Doc) => boolean;
  readonly columns?: Readonly<Record<string, ColumnGiven | undefined>>;
  readonly extra?: 'keep' | 'refuse';
  readonly children?: Readonly<Record<string, UntypedChild | undefined>>;
  readonly references?: Readonly<Record<string, UntypedReference>>;
  readonly unique?: readonly (readonly string[])[];
  readonly rowSecurity?: string;
  readonly start?: unknown;
  readonly key?: unknown;
}

interface UntypedChild {
  readonly into?: string;
  readonly key?: string;
  readonly columns?: Readonly<Record<string, ColumnGiven | undefined>>;
  readonly extra?: 'keep' | 'refuse';
}

interface UntypedReference {
  readonly of: SourceRef;
  readonly on: Readonly<Record<string, string | undefined>>;
}

/** Keeps tables of PostgreSQL right: a row for each source document. */
export function table<S extends object, R extends Record<string, object> = {}>(
  name: string,
  spec: TableOptions<S, R>,
): Declaration<TableSpec>;
export function table(name: string, spec: Untyped): Declaration<TableSpec> {
  const { from, into, version = 1, maxLag, onDelete = 'remove', where, extra = 'keep', rowSecurity } = spec;
  const findings: Finding[] = [
    ...nameFindings(name, version),
    ...lagFindings(name, maxLag),
    ...deleteFindings(name, onDelete),
    ...onlyBeginning(name, spec.start),
    ...extraFindings(name, extra),
  ];
  if (typeof into !== 'string' || into === '')
    findings.push(error('table-into', `Projection ${name} names no table`, "Add into: 'orders'."));
  if (spec.key !== undefined)
    findings.push(
      error(
        'table-key',
        `Projection ${name} declares a key of its table, but its rows have the identity of their documents: the tenant, the partition key and the id`,
        'Remove key. A list may have one: children: { lines: { key: … } }.',
      ),
    );
  if (rowSecurity !== undefined && !isSetting(rowSecurity))
    findings.push(
      error(
        'table-row-security',
        `Projection ${name} has the rowSecurity ${String(rowSecurity)}, which can't be a setting of PostgreSQL`,
        "Write two names with a dot: rowSecurity: 'app.store'.",
      ),
    );
  const references = Object.entries(spec.references ?? {}).map(([alias, declared]) =>
    reference(name, alias, declared, findings),
  );
  const children = Object.entries(spec.children ?? {}).map(([field, given = {}]) => {
    findings.push(...extraFindings(name, given.extra ?? 'keep'));
    const child: ChildOption = {
      into: given.into ?? `${into}_${snake(field)}`,
      columns: columnsOf(given.columns),
      extra: given.extra ?? 'keep',
      ...(given.key !== undefined && { key: given.key }),
    };
    return [field, child] as const;
  });
  return {
    kind: 'table',
    name,
    version,
    from: plain(from),
    table: into,
    onDelete,
    ...(maxLag !== undefined && { maxLag }),
    ...(where && { where }),
    columns: columnsOf(spec.columns),
    extra,
    children: Object.fromEntries(children),
    references,
    unique: (spec.unique ?? []).map((fields) => [...fields]),
    ...(rowSecurity !== undefined && { rowSecurity }),
    map: unbound(name),
    to: { write: unbound(name) },
    findings,
  };
}

const unbound = (name: string) => (): never => {
  throw sharedError('unsupported', `${name} was called without a database`, {
    hint: 'Run the pipeline with `millrace dev` or `millrace run`.',
  });
};

const extraFindings = (name: string, extra: unknown): Finding[] =>
  extra === 'keep' || extra === 'refuse'
    ? []
    : [
        error(
          'table-extra',
          `Projection ${name} has extra ${String(extra)}, which isn't valid`,
          'Write keep or refuse.',
        ),
      ];

const columnsOf = (given: Readonly<Record<string, ColumnGiven | undefined>> = {}): Record<string, ColumnOption> =>
  Object.fromEntries(
    Object.entries(given).flatMap(([field, of]) =>
      of === undefined ? [] : [[field, typeof of === 'string' ? { type: of } : { ...of }]],
    ),
  );

function reference(projection: string, name: string, declared: UntypedReference, findings: Finding[]): RowReference {
  const on: Record<string, string> = {};
  for (const [field, own] of Object.entries(declared.on ?? {})) if (own !== undefined) on[field] = own;
  if (Object.keys(on).length === 0)
    findings.push(
      error('join-on-empty', `Projection ${projection} references ${name} without a condition`, "Add on: { id: '…' }."),
    );
  return { name, of: plain(declared.of), on };
}
