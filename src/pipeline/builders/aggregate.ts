import type { AggregateSpec, Doc, SourceRef } from '../specs.ts';
import { type Declaration, common, error } from '../declaration.ts';
import { type Measure, type Measures, type MeasureSpec, measureNames, measureSpec } from './measures.ts';
import type { Options, Row, Type } from '../types.ts';

/** What `aggregate` takes; S source, T sink, R the rows that `each` makes of one document. */
export interface AggregateOptions<S extends object, T extends object, R> extends Options {
  /** The documents that it derives from. */
  readonly from: Type<S>;
  /** The documents that it writes, one for each group. */
  readonly into: Type<T>;
  /** Only documents for which it returns true. Pure. */
  readonly where?: (doc: S) => boolean;
  /** Rows of one document, each counted in its group; without it the document is the one row. */
  readonly each?: (doc: S) => readonly R[];
  /**
   * The row's group: the sink's whole partition key, and all other fields that distinguish groups. Return the same fields
   * for every row, each a string, finite number, boolean or null.
   */
  readonly groupBy: (row: R, doc: S) => Partial<Row<NoInfer<T>>>;
  /** Field of the sink → measure: `{ orders: (q) => q.count() }`. */
  readonly measures: { readonly [K in Exclude<keyof T, 'id' | 'type'>]?: (q: Measures<R>) => Measure<T[K]> };
}

/** The same without the user's types. */
interface Untyped extends Options, Pick<AggregateSpec, 'groupBy'> {
  readonly from: SourceRef;
  readonly into: SourceRef;
  readonly where?: (doc: Doc) => boolean;
  readonly each?: (doc: Doc) => readonly unknown[];
  readonly measures: object;
}

/** A materialised aggregate: one sink document for each group that has a row; its id is computed from the group. */
export function aggregate<S extends object, T extends object, R = S>(
  name: string,
  spec: AggregateOptions<S, T, R>,
): Declaration<AggregateSpec>;
export function aggregate(name: string, spec: Untyped): Declaration<AggregateSpec> {
  const { fields, findings } = common(name, spec);
  const measures: Record<string, MeasureSpec> = {};
  for (const [field, declared] of Object.entries<unknown>({ ...spec.measures })) {
    if (declared === undefined) continue;
    const measure = measureSpec(declared);
    if ('unknown' in measure) {
      const hint = `Write ${field}: q => q.count(), or another of ${measureNames} with its functions of the row.`;
      findings.push(error('measure', `Measure ${field} of projection ${name} isn't valid: ${measure.unknown}`, hint));
    } else measures[field] = measure;
  }
  if (typeof spec.groupBy !== 'function') {
    findings.push(
      error('group-by', `Projection ${name} has no groupBy`, 'Add groupBy: doc => ({ … }) with the sink’s key.'),
    );
  }
  if (Object.keys(spec.measures ?? {}).length === 0) {
    findings.push(
      error('no-measures', `Projection ${name} has no measures`, 'Add measures: { count: q => q.count() }.'),
    );
  }
  return {
    ...fields,
    kind: 'aggregate',
    ...(spec.where && { where: spec.where }),
    ...(spec.each && { each: spec.each }),
    groupBy: spec.groupBy,
    measures,
    findings,
  };
}
