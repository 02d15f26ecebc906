import { messageOf } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import type { MeasureSpec } from './kinds.ts';

declare const VALUE: unique symbol;

/** What a measure puts into the sink's field. */
export interface Measure<T> {
  readonly [VALUE]?: T;
}

/**
 * Builders of an aggregate's measures, each over the rows of a group. A group without rows doesn't exist, so `avg`,
 * `min` and `max` are never null; a sink field of `number` or `number | null` takes any of them.
 * `of` must return a finite number, else the change is parked as a dead letter. `avg` is kept as sum and count.
 */
export interface Measures<R> {
  count(): Measure<number>;
  sum(of: (row: R) => number): Measure<number>;
  avg(of: (row: R) => number): Measure<number>;
  min(of: (row: R) => number): Measure<number>;
  max(of: (row: R) => number): Measure<number>;
}

/** The same builders as they are: what they return is the measure as data. */
interface Builders {
  count(): MeasureSpec;
  sum(of: Of): MeasureSpec;
  avg(of: Of): MeasureSpec;
  min(of: Of): MeasureSpec;
  max(of: Of): MeasureSpec;
}
type Of = (row: unknown) => number;

const BUILDERS: Builders = {
  count: () => ({ kind: 'count' }),
  sum: (of) => ({ kind: 'sum', of }),
  avg: (of) => ({ kind: 'avg', of }),
  min: (of) => ({ kind: 'min', of }),
  max: (of) => ({ kind: 'max', of }),
};

/** A measure's declaration as data, or why it is none: an unknown builder, or one without its function. */
export function measureSpec(declare: unknown): MeasureSpec | { readonly unknown: string } {
  let built: unknown;
  try {
    built = typeof declare === 'function' ? declare(BUILDERS) : declare;
  } catch (cause) {
    return { unknown: messageOf(cause) };
  }
  if (!isSpec(built)) return { unknown: 'it returns no measure' };
  if (built.kind !== 'count' && typeof built.of !== 'function')
    return { unknown: `${built.kind} is given no function` };
  return built;
}

const isSpec = (value: unknown): value is MeasureSpec =>
  isObject(value) && Object.hasOwn(BUILDERS, String(value['kind']));
