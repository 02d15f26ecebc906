import { isObject, shown } from '../../base/json.ts';
import { type MeasurePart, type Take, partOfMeasure } from '../../pipeline/builders/measures.ts';
import type { AggregateSpec } from '../../pipeline/specs.ts';
import { assertStorable } from '../sink-type.ts';
import { sharedError } from '../../base/shared-errors.ts';

/** What one document adds to one group: its number of rows there, and its part of each measure. */
export interface Values {
  readonly rows: number;
  readonly m: Readonly<Record<string, MeasurePart>>;
}

const MOST_KEPT_BYTES = 1_000;

/** Folds the rows of one document that belong to one group. Throws if a measure can't use the value of a row. */
export function aggregateValuesOf(measures: AggregateSpec['measures'], rows: readonly unknown[]): Values {
  const m: Record<string, MeasurePart> = {};
  for (const [field, measure] of Object.entries(measures)) {
    const part = partOfMeasure(measure, rows, taking(field));
    if (part !== undefined) m[field] = part;
  }
  return { rows: rows.length, m };
}

const taking = (field: string): Take => ({
  field,
  number: (value) => {
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    throw sharedError('value-invalid', `Measure ${field} got ${shown(value)}, not a finite number`);
  },
  text: (value) => {
    if (typeof value === 'string') return value;
    throw sharedError('value-invalid', `Measure ${field} got ${shown(value)}, not a string`);
  },
  // As plain JSON, so that it equals the value that a later read returns.
  object: (value) => {
    assertStorable(value, `Measure ${field}`);
    const text = JSON.stringify(value) ?? '';
    const plain: unknown = text === '' ? undefined : JSON.parse(text);
    if (isObject(plain) && Buffer.byteLength(text) <= MOST_KEPT_BYTES) return plain;
    const what = isObject(plain) ? `${Buffer.byteLength(text)} bytes; the limit is ${MOST_KEPT_BYTES}` : 'no object';
    throw sharedError('value-invalid', `keep of measure ${field} returned ${what}`, {
      hint: 'Return an object of at most 1,000 bytes of JSON from `keep`.',
    });
  },
});
