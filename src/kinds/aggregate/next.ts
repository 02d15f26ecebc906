import { formatOf } from '../../base/format.ts';
import { type MeasurePart, foldsOf, groupValue } from '../../pipeline/builders/measures.ts';
import type { AggregateSpec } from '../../pipeline/specs.ts';
import type { Write } from '../../access/document-access.ts';
import { countDistinct } from './distinct-counters.ts';
import { mergeExtremes } from './extremes.ts';
import type { Values } from './contribution-values.ts';
import type { Fold, KeptMeasure, Own } from './query-contributions.ts';
import { mergeTop } from './top.ts';
import { projectionsError } from '../errors.ts';

/** How long an emptied group that other projections derive from is kept, seconds: they may lag no longer. */
const EMPTIED_TTL_S = 30 * 86_400;

export interface Next {
  /** The group's fields; undefined where documents only leave the group, which then keeps its fields. */
  readonly fields: Readonly<Record<string, unknown>> | undefined;
  /** Whether other projections derive from the aggregate: it is then emptied, not removed (AGG-G11). */
  readonly feeds: boolean;
}

/**
 * The writes that turn an aggregate's old document into the next one, without those of the contributions. Undefined: a
 * read was too old, so everything must be read again.
 * @throws MillraceError `sum-unsafe`
 */
export async function nextAggregate(spec: AggregateSpec, fold: Fold, next: Next): Promise<Write[] | undefined> {
  const { aggregate, aggregateId: id, own } = fold;
  const rows = (own?.rows ?? 0) + delta(fold, (values) => values.rows);
  const fields: Record<string, unknown> = {};
  const sums: Record<string, number> = {};
  const rounding: Record<string, number> = {};
  const kept: Record<string, KeptMeasure> = {};
  const writes: Write[] = [];
  for (const [field, measure] of Object.entries(spec.measures)) {
    const folds = foldsOf(measure);
    if (folds === 'rows') fields[field] = rows;
    else if (folds === 'least' || folds === 'greatest') fields[field] = await mergeExtremes(folds, field, fold);
    else if (folds === 'counts') fields[field] = addCounts(field, fold);
    else if (measure.kind === 'top') {
      kept[field] = await mergeTop(measure.n, field, fold);
      fields[field] = groupValue(measure, kept[field], rows);
    } else if (folds === 'values') {
      const counted = await countDistinct(field, fold);
      if (!counted) return undefined;
      fields[field] = counted.count;
      writes.push(...counted.writes);
    } else {
      const hidden = folds === 'hidden-sum';
      const before = hidden ? own?.sums[field] : aggregate?.[field];
      const sum = safe(field, Number(before ?? 0) + added(field, fold));
      const off = (own?.rounding?.[field] ?? 0) + roundedBy(field, sum, fold);
      if (off > 0) rounding[field] = off;
      if (hidden) sums[field] = sum;
      fields[field] = groupValue(measure, sum, rows);
    }
  }
  if (rows === 0 && !next.feeds)
    return aggregate ? [{ op: 'delete', id, ifMatch: aggregate._etag }, ...writes] : writes;
  const body = {
    ...(next.fields ?? groupFieldsOf(fold, spec)),
    ...fields,
    id,
    type: spec.into.type,
    ...(rows === 0 ? { ttl: EMPTIED_TTL_S } : {}),
    _mr: {
      ...formatOf('own'),
      by: fold.projection,
      rows,
      sums,
      ...(Object.keys(rounding).length > 0 ? { rounding } : {}),
      ...(Object.keys(kept).length > 0 ? { kept } : {}),
    } satisfies Own,
  };
  if (aggregate) return [{ op: 'replace', id, body, ifMatch: aggregate._etag }, ...writes];
  // The group never existed, so the projections that derive from it need no change.
  return rows === 0 ? writes : [{ op: 'create', id, body }, ...writes];
}

const delta = ({ replaced }: Fold, of: (values: Values) => number): number =>
  replaced.reduce((sum, { before, after }) => sum + (after ? of(after) : 0) - (before ? of(before) : 0), 0);

const added = (field: string, fold: Fold): number => delta(fold, ({ m }) => numberOf(m[field]));
const numberOf = (part: MeasurePart | undefined): number => (typeof part === 'number' ? part : 0);

/**
 * The most that one step adds to a sum's rounding error, to first order. Each of k additions is off by at most u = 2^-53
 * times its result (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., (2.4) and 3.3). A result is no
 * larger than all parts together; the last result is the sum.
 */
function roundedBy(field: string, sum: number, { replaced }: Fold): number {
  const parts = replaced.flatMap(({ before, after }) => [numberOf(before?.m[field]), numberOf(after?.m[field])]);
  if (Number.isInteger(sum) && parts.every(Number.isInteger)) return 0;
  const all = parts.reduce((total, part) => total + Math.abs(part), 0);
  return (Number.EPSILON / 2) * (parts.length * all + Math.abs(sum));
}

/** Beyond 2^53 integers are rounded, so a later subtraction would not take back exactly what was added. */
function safe(field: string, sum: number): number {
  if (Math.abs(sum) <= Number.MAX_SAFE_INTEGER) return sum;
  throw projectionsError('sum-unsafe', `Measure ${field} would be ${sum}, beyond the integers that are exact (2^53)`);
}

/** Lists are of one length: another number of bounds is another declaration, which starts a version. */
function addCounts(field: string, fold: Fold): number[] {
  const listOf = (part: unknown): readonly number[] => (part as readonly number[] | undefined) ?? [];
  const before = listOf(fold.aggregate?.[field]);
  const parts = fold.replaced.flatMap((of) => [of.before, of.after]).map((values) => listOf(values?.m[field]));
  const length = Math.max(before.length, ...parts.map((part) => part.length));
  return Array.from({ length }, (_, at) => (before[at] ?? 0) + delta(fold, ({ m }) => listOf(m[field])[at] ?? 0));
}

function groupFieldsOf({ aggregate }: Fold, spec: AggregateSpec): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(aggregate ?? {})) {
    if (!name.startsWith('_') && name !== 'ttl' && !(name in spec.measures)) fields[name] = value;
  }
  return fields;
}
