import { MillraceError } from '../../base/errors.ts';
import type { AggregateSpec, MeasureSpec } from '../../definition/kinds.ts';

/** What one document adds to one group: its rows there, and per measure the sum (sum, avg) or the extreme (min, max). */
export interface Values {
  readonly rows: number;
  readonly m: Readonly<Record<string, number>>;
}

type Measures = AggregateSpec['measures'];

/** Folds the rows of one document that fall into one group. Throws where a measure's value is no finite number. */
export function valuesOf(measures: Measures, rows: readonly unknown[]): Values {
  const m: Record<string, number> = {};
  for (const [field, measure] of Object.entries(measures)) {
    if (measure.kind === 'count') continue;
    const values = rows.map((row) => finite(field, measure.of(row)));
    m[field] = isExtreme(measure) ? extreme(measure.kind, values) : values.reduce((sum, value) => sum + value, 0);
  }
  return { rows: rows.length, m };
}

/** The best of several values, by the measure's own order. */
export const extreme = (kind: 'min' | 'max', values: readonly number[]): number =>
  values.reduce((best, value) => (kind === 'min' ? Math.min(best, value) : Math.max(best, value)));

export const isExtreme = (
  measure: MeasureSpec,
): measure is Extract<MeasureSpec, { of: unknown }> & { kind: 'min' | 'max' } =>
  measure.kind === 'min' || measure.kind === 'max';

function finite(field: string, value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new MillraceError('measure-not-a-number', `Measure ${field} got ${String(value)}, not a finite number`, {
    mend: 'Leave the document out with `where`, or return a number for it.',
  });
}
