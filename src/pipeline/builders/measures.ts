// The measures of aggregates: what a caller writes, and one entry for each with everything that the engine knows of it. The
// oracle (`oracle/recompute.ts`) computes the same values by other code.
import { messageOf } from '../../base/errors.ts';
import { canonical, isObject } from '../../base/json.ts';
import { sharedError } from '../../base/shared-errors.ts';

declare const VALUE: unique symbol;

/** A measure; T is the value that it writes into the sink's field. */
export interface Measure<T> {
  readonly [VALUE]?: T;
}

/**
 * Builders of an aggregate's measures, each over the rows of a group. A group without rows doesn't exist, so `avg`,
 * `min` and `max` are never null; a sink field of `number` or `number | null` takes any of them.
 * `of` and `by` must return a finite number (`distinct`: a string), or Millrace parks the change.
 */
export interface Measures<R> {
  /** The number of rows. */
  count(): Measure<number>;
  /** The sum; exact for whole numbers up to 2^53, so keep money in its smallest unit. */
  sum(of: (row: R) => number): Measure<number>;
  /** The average, kept as sum and count. */
  avg(of: (row: R) => number): Measure<number>;
  /** The smallest value. When it goes away, Millrace looks for the next one. */
  min(of: (row: R) => number): Measure<number>;
  /** The largest value. When it goes away, Millrace looks for the next one. */
  max(of: (row: R) => number): Measure<number>;
  /** The number of different values, by reference counts; one document may have at most 49 of them in a group. */
  distinct(of: (row: R) => string): Measure<number>;
  /** The `n` rows (1 to 50) with the largest `by`, largest first; `keep` makes at most 1,000 bytes of JSON of each. */
  top<K extends object>(n: number, by: (row: R) => number, keep: (row: R) => K): Measure<K[]>;
  /** Rows by bucket: below the first bound, from each bound up to the next, from the last on; bounds ascend, 1 to 100. */
  histogram(bounds: readonly number[], of: (row: R) => number): Measure<number[]>;
}

export type MeasureSpec =
  | { readonly kind: 'count' }
  | NumberSpec<'sum'>
  | NumberSpec<'avg'>
  | NumberSpec<'min'>
  | NumberSpec<'max'>
  | { readonly kind: 'distinct'; of(row: unknown): string }
  | TopSpec
  | HistogramSpec;

interface NumberSpec<K extends string> {
  readonly kind: K;
  of(row: unknown): number;
}

/** The `n` rows with the largest `by`; equal ones in the order of their canonical `keep`. */
export interface TopSpec {
  readonly kind: 'top';
  readonly n: number;
  by(row: unknown): number;
  keep(row: unknown): Record<string, unknown>;
}

/** Rows counted by bucket: below `bounds[0]`, from `bounds[0]` up to `bounds[1]`, …, from the last bound on. */
export interface HistogramSpec extends NumberSpec<'histogram'> {
  readonly bounds: readonly number[];
}

/** What has a least and a greatest. */
export type Ordered = number | string;

/** What one document adds to the measure of one group. */
export type MeasurePart = Ordered | readonly number[] | readonly string[] | TopPart;

export interface TopPart {
  /** The largest `by`; queries select contributions by it. */
  readonly best: number;
  readonly rows: readonly TopRow[];
}

export interface TopRow {
  readonly by: number;
  readonly keep: Readonly<Record<string, unknown>>;
}

/** Checks what a function of the user returned for a row. Each throws `value-invalid`. */
export interface Take {
  /** The measure's field, for messages. */
  readonly field: string;
  number(value: unknown): number;
  text(value: unknown): string;
  /** An object of at most 1,000 bytes of JSON, as a later read returns it. */
  object(value: unknown): Record<string, unknown>;
}

/**
 * How a group's value follows from the parts of its documents (`kinds/aggregate/next.ts`): `rows`: the number of rows;
 * `sum`: the parts added up, in the field itself; `hidden-sum`: the same, kept beside the document because the field shows
 * something else; `counts`: lists added up, number by number; `least`, `greatest`: the extreme part; `best`: the best rows of the parts;
 * `values`: each value once, with the number of parts that have it.
 */
export type Folds = 'rows' | 'sum' | 'hidden-sum' | 'counts' | Extreme | 'best' | 'values';
export type Extreme = 'least' | 'greatest';

/** Everything about one measure. */
interface Entry<M> {
  /** What its call returns. */
  declare(...of: never[]): M;
  /** What a declaration in plain JavaScript can have wrong, beside a function that is missing. */
  wrong?(measure: M): string | undefined;
  /** A value of its JSON type; it runs the measure's functions on the row. */
  sample(measure: M, row: unknown): unknown;
  readonly folds: Folds;
  /** What the rows that a document has in a group add to it. At least one row. */
  part(measure: M, rows: readonly unknown[], take: Take): MeasurePart | undefined;
  /** The value of a group with this part, of one document or of all. Absent: the part itself. */
  value?(measure: M, part: unknown, rows: number): unknown;
}

type Of = (row: unknown) => number;

const numbersOf = (measure: { of: Of }, rows: readonly unknown[], take: Take): number[] =>
  rows.map((row) => take.number(measure.of(row)));
const sumOf = (measure: { of: Of }, rows: readonly unknown[], take: Take): number =>
  numbersOf(measure, rows, take).reduce((sum, number) => sum + number, 0);

/** Rows that `top` keeps and bounds that `histogram` takes, at most. */
const MOST_ROWS = 50;
const MOST_BOUNDS = 100;
/** A batch of 100 operations has room for the aggregate, a contribution, and 49 values removed and 49 added. */
const MOST_VALUES = 49;

const MEASURES: { readonly [K in MeasureSpec['kind']]: Entry<Extract<MeasureSpec, { readonly kind: K }>> } = {
  count: {
    declare: () => ({ kind: 'count' }),
    sample: () => 1,
    folds: 'rows',
    part: () => undefined,
    value: (_measure, _part, rows) => rows,
  },
  sum: {
    declare: (of: Of) => ({ kind: 'sum', of }),
    sample: (measure, row) => measure.of(row),
    folds: 'sum',
    part: sumOf,
  },
  avg: {
    declare: (of: Of) => ({ kind: 'avg', of }),
    sample: (measure, row) => measure.of(row),
    folds: 'hidden-sum',
    part: sumOf,
    value: (_measure, sum, rows) => (rows === 0 ? null : Number(sum) / rows),
  },
  min: {
    declare: (of: Of) => ({ kind: 'min', of }),
    sample: (measure, row) => measure.of(row),
    folds: 'least',
    part: (measure, rows, take) => extreme('least', numbersOf(measure, rows, take)),
  },
  max: {
    declare: (of: Of) => ({ kind: 'max', of }),
    sample: (measure, row) => measure.of(row),
    folds: 'greatest',
    part: (measure, rows, take) => extreme('greatest', numbersOf(measure, rows, take)),
  },
  distinct: {
    declare: (of: (row: unknown) => string) => ({ kind: 'distinct', of }),
    sample: (measure, row) => (measure.of(row), 1),
    folds: 'values',
    part: (measure, rows, take) => {
      const different = [...new Set(rows.map((row) => take.text(measure.of(row)).toWellFormed()))].toSorted();
      if (different.length <= MOST_VALUES) return different;
      const what = `Measure ${take.field} has ${different.length} different values in one document; a transactional batch can hold ${MOST_VALUES}`;
      throw sharedError('too-large', what, {
        hint: 'Count coarser values, or let `groupBy` divide the rows of a document among more groups.',
      });
    },
    value: (_measure, values) => (values as readonly string[]).length,
  },
  top: {
    declare: (n: number, by: Of, keep: TopSpec['keep']) => ({ kind: 'top', n, by, keep }),
    wrong: ({ n }) =>
      Number.isInteger(n) && n >= 1 && n <= MOST_ROWS
        ? undefined
        : `top keeps 1 to ${MOST_ROWS} rows, not ${String(n)}`,
    sample: (measure, row) => (measure.by(row), [measure.keep(row)]),
    folds: 'best',
    part: (measure, rows, take) => {
      const ranked = rows
        .map((row) => ({ by: take.number(measure.by(row)), keep: take.object(measure.keep(row)) }))
        .toSorted(byRank);
      return { best: ranked[0]?.by ?? 0, rows: ranked.slice(0, measure.n) };
    },
    value: ({ n }, part) => (part as TopPart).rows.slice(0, n).map(({ keep }) => keep),
  },
  histogram: {
    declare: (bounds: readonly number[], of: Of) => ({ kind: 'histogram', bounds, of }),
    wrong: ({ bounds }) =>
      isAscending(bounds) ? undefined : `histogram takes 1 to ${MOST_BOUNDS} finite bounds, each above the one before`,
    sample: (measure, row) => (measure.of(row), measure.bounds.map(() => 0)),
    folds: 'counts',
    part: (measure, rows, take) => {
      const { bounds } = measure;
      const counts = Array.from({ length: bounds.length + 1 }, () => 0);
      for (const value of numbersOf(measure, rows, take)) {
        const above = bounds.findIndex((bound) => value < bound);
        const bucket = above === -1 ? bounds.length : above;
        counts[bucket] = (counts[bucket] ?? 0) + 1;
      }
      return counts;
    },
  },
};

/** The entry of a measure, typed for any: TypeScript doesn't relate a kind to its entry. */
const entryOf = ({ kind }: MeasureSpec): Entry<MeasureSpec> => MEASURES[kind];

export const foldsOf = (measure: MeasureSpec): Folds => entryOf(measure).folds;
export const sampleOf = (measure: MeasureSpec, row: unknown): unknown => entryOf(measure).sample(measure, row);
export const partOfMeasure = (measure: MeasureSpec, rows: readonly unknown[], take: Take): MeasurePart | undefined =>
  entryOf(measure).part(measure, rows, take);
/** The value of a group with this part of the measure: of one document's contribution, or of all. */
export function groupValue(measure: MeasureSpec, part: unknown, rows: number): unknown {
  const entry = entryOf(measure);
  return entry.value ? entry.value(measure, part, rows) : part;
}

/** The extreme of several values of one type. At least one. */
export const extreme = <T extends Ordered>(which: Extreme, values: readonly T[]): T =>
  values.reduce((best, value) => ((which === 'least' ? value < best : value > best) ? value : best));

/** A total order, so that every host makes the same list: larger `by` first, then by the content of `keep`. */
export const byRank = (a: TopRow, b: TopRow): number => {
  if (a.by !== b.by) return b.by - a.by;
  const [left, right] = [canonical(a.keep), canonical(b.keep)];
  return left < right ? -1 : Number(left > right);
};

export const measureNames = Object.keys(MEASURES).join(', ');

/** The builders at run time: each returns the measure as data. */
const BUILDERS = Object.fromEntries(Object.entries(MEASURES).map(([kind, entry]) => [kind, entry.declare.bind(entry)]));

/** A measure's declaration as data, or why it isn't valid: an unknown builder, or one without its function. */
export function measureSpec(declare: unknown): MeasureSpec | { readonly unknown: string } {
  let built: unknown;
  try {
    built = typeof declare === 'function' ? declare(BUILDERS) : declare;
  } catch (cause) {
    return { unknown: messageOf(cause) };
  }
  if (!isSpec(built)) return { unknown: 'it doesn’t return a measure' };
  const wrong = whatIsWrong(built);
  return wrong === undefined ? built : { unknown: wrong };
}

const isSpec = (value: unknown): value is MeasureSpec =>
  isObject(value) && Object.hasOwn(MEASURES, String(value['kind']));

function whatIsWrong(spec: MeasureSpec): string | undefined {
  const functions = Object.entries(spec).filter(([name]) => ['of', 'by', 'keep'].includes(name));
  if (functions.some(([, of]) => typeof of !== 'function')) return `${spec.kind} needs a function`;
  return entryOf(spec).wrong?.(spec);
}

const isAscending = (bounds: readonly number[]): boolean =>
  Array.isArray(bounds) &&
  bounds.length >= 1 &&
  bounds.length <= MOST_BOUNDS &&
  bounds.every((bound, at) => Number.isFinite(bound) && (at === 0 || bound > (bounds[at - 1] ?? bound)));
