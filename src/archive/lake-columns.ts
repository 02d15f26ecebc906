// The columns of an archive's Parquet files, by the examples of the data-model document.
import type { ArchiveSpec } from '../definition/specs.ts';
import { type Model, examplesOf } from '../model/model.ts';
import { type ObjectShape, type Shape, seeObject } from '../model/types/shape.ts';
import type { ArchivedDocument } from './types.ts';

export interface LakeColumn {
  readonly name: string;
  readonly type: 'STRING' | 'DOUBLE' | 'BOOLEAN' | 'JSON' | 'TIMESTAMP';
  /** The field of the document; absent: one of Millrace's own columns. */
  readonly field?: string;
}

/** When the application changed the document last. */
const CHANGED = '_changed_at';
/** The fields that have no column, or a value that their column can't have. */
const REST = '_rest';
/** Names that the folders give to columns. */
const FOLDERS = ['tenant', 'year', 'month'];

/**
 * A column for each field of the examples, and two of Millrace's own. Names of columns are one in DuckDB and Spark if only
 * their case differs: then the second field has no column. A field with the name of a folder's column gets a `_` before it.
 */
export function lakeColumns(spec: Pick<ArchiveSpec, 'from'>, model: Model): LakeColumn[] {
  const shape: ObjectShape = { seen: 0, fields: new Map() };
  for (const example of [{ id: '' }, ...examplesOf(model, spec.from)]) seeObject(shape, example);
  const columns: LakeColumn[] = [];
  const taken = new Set([CHANGED, REST]);
  for (const [field, { shape: of }] of shape.fields) {
    const name = FOLDERS.includes(field.toLowerCase()) ? `_${field}` : field;
    if (taken.has(name.toLowerCase())) continue;
    taken.add(name.toLowerCase());
    columns.push({ name, type: typeOf(of), field });
  }
  return [...columns, { name: CHANGED, type: 'TIMESTAMP' }, { name: REST, type: 'JSON' }];
}

const TYPES = { string: 'STRING', number: 'DOUBLE', boolean: 'BOOLEAN' } as const;

function typeOf({ scalars, object, list }: Shape): LakeColumn['type'] {
  const [first, ...others] = [...scalars].filter((scalar) => scalar !== 'null');
  const alone = !object && !list && others.length === 0;
  return (alone && first !== undefined && TYPES[first as keyof typeof TYPES]) || 'JSON';
}

/** The values of some documents, column by column. Nothing of a document is lost: what fits no column is in `_rest`. */
export function valuesOf(columns: readonly LakeColumn[], documents: readonly ArchivedDocument[]): unknown[][] {
  const fields = columns.flatMap(({ field, type }) => (field === undefined ? [] : [{ field, type }]));
  const rests = documents.map(({ doc }) => restOf(doc, fields));
  return columns.map(({ name, field, type }) => {
    if (field !== undefined) return documents.map(({ doc }) => (fits(doc[field], type) ? doc[field] : null));
    return name === CHANGED ? documents.map(({ at }) => new Date(at)) : rests;
  });
}

function restOf(
  doc: Readonly<Record<string, unknown>>,
  fields: readonly { readonly field: string; readonly type: LakeColumn['type'] }[],
): Readonly<Record<string, unknown>> | null {
  // Millrace's own part is no field of the application's.
  const inColumns = new Set([
    '_mr',
    ...fields.filter(({ field, type }) => fits(doc[field], type)).map(({ field }) => field),
  ]);
  const rest = Object.entries(doc).filter(([field]) => !inColumns.has(field));
  return rest.length === 0 ? null : Object.fromEntries(rest);
}

const JS_TYPES = { STRING: 'string', DOUBLE: 'number', BOOLEAN: 'boolean', TIMESTAMP: 'object' } as const;

/** An absent field and one that is null are both NULL. */
const fits = (value: unknown, type: LakeColumn['type']): boolean =>
  value === undefined || value === null || type === 'JSON' || typeof value === JS_TYPES[type];
