import { messageOf } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { Doc, MeasureSpec } from '../specs.ts';

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

type Of = (row: unknown) => number;

/** The builders at run time: each returns the measure as data. */
const BUILDERS = {
  count: () => ({ kind: 'count' }),
  sum: (of: Of) => ({ kind: 'sum', of }),
  avg: (of: Of) => ({ kind: 'avg', of }),
  min: (of: Of) => ({ kind: 'min', of }),
  max: (of: Of) => ({ kind: 'max', of }),
  distinct: (of: (row: unknown) => string) => ({ kind: 'distinct', of }),
  top: (n: number, by: Of, keep: (row: unknown) => Doc) => ({ kind: 'top', n, by, keep }),
  histogram: (bounds: readonly number[], of: Of) => ({ kind: 'histogram', bounds, of }),
} satisfies Record<MeasureSpec['kind'], (...of: never[]) => MeasureSpec>;

/** Rows that `top` keeps and bounds that `histogram` takes, at most. */
const MOST_ROWS = 50;
const MOST_BOUNDS = 100;

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
  isObject(value) && Object.hasOwn(BUILDERS, String(value['kind']));

function whatIsWrong(spec: MeasureSpec): string | undefined {
  if (spec.kind === 'count') return undefined;
  const functions = Object.entries(spec).filter(([name]) => ['of', 'by', 'keep'].includes(name));
  if (functions.some(([, of]) => typeof of !== 'function')) return `${spec.kind} needs a function`;
  if (spec.kind === 'top' && !(Number.isInteger(spec.n) && spec.n >= 1 && spec.n <= MOST_ROWS))
    return `top keeps 1 to ${MOST_ROWS} rows, not ${String(spec.n)}`;
  if (spec.kind === 'histogram' && !isAscending(spec.bounds))
    return `histogram takes 1 to ${MOST_BOUNDS} finite bounds, each above the one before`;
  return undefined;
}

const isAscending = (bounds: readonly number[]): boolean =>
  Array.isArray(bounds) &&
  bounds.length >= 1 &&
  bounds.length <= MOST_BOUNDS &&
  bounds.every((bound, at) => Number.isFinite(bound) && (at === 0 || bound > (bounds[at - 1] ?? bound)));
