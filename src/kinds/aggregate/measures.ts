import { canonical, isObject, shown } from '../../base/json.ts';
import type { AggregateSpec, Doc, HistogramSpec, MeasureSpec, TopSpec } from '../../pipeline/specs.ts';
import { assertStorable } from '../sink-type.ts';
import { sharedError } from '../../base/shared-errors.ts';

/** What one document adds to one group: its number of rows there, and its part of each measure. */
export interface Values {
  readonly rows: number;
  readonly m: Readonly<Record<string, MeasurePart>>;
}

/** sum, avg: the sum; min, max: the extreme; histogram: rows by bucket; distinct: each value once; top: the best rows. */
export type MeasurePart = number | readonly number[] | readonly string[] | TopPart;

export interface TopPart {
  /** The largest `by`; queries select contributions by it. */
  readonly best: number;
  readonly rows: readonly TopRow[];
}

export interface TopRow {
  readonly by: number;
  readonly keep: Doc;
}

/** A batch of 100 operations has room for the aggregate, a contribution, and 49 values removed and 49 added. */
const MOST_VALUES = 49;
const MOST_KEPT_BYTES = 1_000;

/** Folds the rows of one document that belong to one group. Throws if a measure can't use the value of a row. */
export function aggregateValuesOf(measures: AggregateSpec['measures'], rows: readonly unknown[]): Values {
  const m: Record<string, MeasurePart> = {};
  for (const [field, measure] of Object.entries(measures)) {
    const part = partOf(field, measure, rows);
    if (part !== undefined) m[field] = part;
  }
  return { rows: rows.length, m };
}

function partOf(field: string, measure: MeasureSpec, rows: readonly unknown[]): MeasurePart | undefined {
  if (measure.kind === 'count') return undefined;
  if (measure.kind === 'histogram') return countByBucket(field, measure, rows);
  if (measure.kind === 'top') return bestRows(field, measure, rows);
  if (measure.kind === 'distinct') {
    const values = rows.map((row) => measure.of(row));
    return differentValues(field, values);
  }
  const numbers = rows.map((row) => finite(field, measure.of(row)));
  if (measure.kind === 'min' || measure.kind === 'max') return extreme(measure.kind, numbers);
  return numbers.reduce((sum, number) => sum + number, 0);
}

/** The best of several values, by the measure's own order. */
export const extreme = (kind: 'min' | 'max', values: readonly number[]): number =>
  values.reduce((best, value) => (kind === 'min' ? Math.min(best, value) : Math.max(best, value)));

/** A total order, so that every host makes the same list: larger `by` first, then by the content of `keep`. */
export const byRank = (a: TopRow, b: TopRow): number => {
  if (a.by !== b.by) return b.by - a.by;
  const [left, right] = [canonical(a.keep), canonical(b.keep)];
  return left < right ? -1 : Number(left > right);
};

function countByBucket(field: string, measure: HistogramSpec, rows: readonly unknown[]): number[] {
  const { bounds } = measure;
  const counts = Array.from({ length: bounds.length + 1 }, () => 0);
  for (const row of rows) {
    const value = finite(field, measure.of(row));
    const above = bounds.findIndex((bound) => value < bound);
    const bucket = above === -1 ? bounds.length : above;
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  return counts;
}

function differentValues(field: string, values: readonly unknown[]): string[] {
  const different = new Set<string>();
  for (const value of values) {
    if (typeof value !== 'string')
      throw sharedError('value-invalid', `Measure ${field} got ${shown(value)}, not a string`);
    different.add(value.toWellFormed());
  }
  if (different.size <= MOST_VALUES) return [...different].toSorted();
  const what = `Measure ${field} has ${different.size} different values in one document; a transactional batch can hold ${MOST_VALUES}`;
  throw sharedError('too-large', what, {
    hint: 'Count coarser values, or let `groupBy` divide the rows of a document among more groups.',
  });
}

function bestRows(field: string, top: TopSpec, rows: readonly unknown[]): TopPart {
  const ranked = rows
    .map((row) => ({ by: finite(field, top.by(row)), keep: kept(field, top.keep(row)) }))
    .toSorted(byRank);
  return { best: ranked[0]?.by ?? 0, rows: ranked.slice(0, top.n) };
}

/** The value as plain JSON, so that it equals the value that a later read returns. */
function kept(field: string, value: unknown): Doc {
  assertStorable(value, `Measure ${field}`);
  const text = JSON.stringify(value) ?? '';
  const plain: unknown = text === '' ? undefined : JSON.parse(text);
  if (isObject(plain) && Buffer.byteLength(text) <= MOST_KEPT_BYTES) return plain;
  const what = isObject(plain) ? `${Buffer.byteLength(text)} bytes; the limit is ${MOST_KEPT_BYTES}` : 'no object';
  throw sharedError('value-invalid', `keep of measure ${field} returned ${what}`, {
    hint: 'Return an object of at most 1,000 bytes of JSON from `keep`.',
  });
}

function finite(field: string, value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw sharedError('value-invalid', `Measure ${field} got ${shown(value)}, not a finite number`);
}
