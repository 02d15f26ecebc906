import { LAST_DATE, MILLISECONDS_FROM } from '../../pipeline/date.ts';
import type { SqlQuerySpec } from '@azure/cosmos';
import type { ArchiveSpec } from '../../pipeline/specs.ts';
import type { TenantValue } from './tenant-turns.ts';
import type { SourceContainer } from '../../feed/reading/mapper.ts';

const DAY_MS = 86_400_000;
/** Documents whose date can't be read are named, not all counted. */
const UNDATED = 100;

/**
 * Whether an index of the source finds what is due: the rule reads the field as it is stored. An `upcast` may take the
 * date from another field, so such a source is read by its feed.
 */
export const isDateIndexed = (
  { from }: Pick<ArchiveSpec, 'from'>,
  { types }: Pick<SourceContainer, 'types'>,
): boolean => types.get(from.type)?.upcast === undefined;

/**
 * The documents that may be due: all that are, and few others. A date as text is compared by its first characters, with a
 * day more for its time zone; the rule decides afterwards. `without`: tenants whose documents are left out, with all that
 * name none.
 */
export function dueQuery(
  spec: ArchiveSpec,
  source: SourceContainer,
  now: number,
  without: readonly TenantValue[] = [],
): SqlQuerySpec {
  const { rule } = spec;
  if (rule.kind === 'always') return ofType(spec, source, undefined, {}, { without });
  const until = rule.kind === 'before' ? rule.ms : now - rule.ms;
  const [dashed, slashed, years] = textFrom(until);
  const where = [
    'd < @dashed',
    '(d >= @years AND d < @slashed)',
    // With a lower end: an index that has all types in one order would begin with null. Milliseconds before 1970 come too.
    '(d >= @least AND d <= @seconds)',
    '(d >= @milliseconds AND d <= @until)',
  ];
  return ofType(spec, source, where, { dashed, slashed, years, ...numbersOf(until) }, { without });
}

/**
 * Some of the documents whose date is none. A rule that takes all documents has found them already. A text that begins with
 * a digit is looked at when the date that it would be has come, and so a date ahead isn't read at each sweep.
 */
export function undatedQuery(spec: ArchiveSpec, source: SourceContainer): SqlQuerySpec | undefined {
  if (spec.rule.kind === 'always') return undefined;
  const where = [
    'd >= @afterDigits',
    // With an upper end: an index that has all types in one order would go on through the text.
    '(d > @last AND d <= @most)',
    'd = true',
    'd = false',
  ];
  return ofType(spec, source, where, { afterDigits: ':', last: LAST_DATE, most: Number.MAX_VALUE }, { top: UNDATED });
}

/**
 * Two days after a time as `2001-02-03` and `2001/02/03`, and the least text of its year with slashes. A slash comes after
 * a dash, so dates with slashes have a range of their own within the year.
 */
function textFrom(time: number): [dashed: string, slashed: string, years: string] {
  const day = new Date(Math.min(Math.max(time, 0) + 2 * DAY_MS, Date.UTC(9999, 11, 31))).toISOString().slice(0, 10);
  return [day, day.replaceAll('-', '/'), `${day.slice(0, 4)}/`];
}

const numbersOf = (until: number): Readonly<Record<string, number>> => ({
  least: -Number.MAX_VALUE,
  seconds: Math.min(until / 1_000, MILLISECONDS_FROM - 1),
  milliseconds: MILLISECONDS_FROM,
  until,
});

/** `d` in the conditions is the date. */
function ofType(
  { from, dateField, tenantField }: ArchiveSpec,
  { types }: SourceContainer,
  anyOf: readonly string[] | undefined,
  values: Readonly<Record<string, TenantValue>>,
  { top, without = [] }: { readonly top?: number; readonly without?: readonly TenantValue[] } = {},
): SqlQuerySpec {
  const by = types.get(from.type)?.discriminator ?? 'type';
  // A function that recognises documents can't be asked in a query.
  const typed = typeof by === 'string' ? [`c[${JSON.stringify(by)}] = @type`] : [];
  const field = `c[${JSON.stringify(dateField)}]`;
  const dated = anyOf ? [`(${anyOf.join(' OR ').replaceAll(/\bd\b/g, () => field)})`] : [];
  const others = Object.fromEntries(without.map((tenant, at) => [`not${at}`, tenant]));
  const names = Object.keys(others).map((name) => `@${name}`);
  const rest = names.length > 0 ? [`c[${JSON.stringify(tenantField)}] NOT IN (${names.join(', ')})`] : [];
  const where = [...typed, ...dated, ...rest];
  const parameters = Object.entries({ ...values, ...others, ...(typed.length > 0 && { type: from.type }) });
  return {
    query: `SELECT ${top === undefined ? '' : `TOP ${top} `}* FROM c${where.length > 0 ? ` WHERE ${where.join(' AND ')}` : ''}`,
    parameters: parameters.map(([name, value]) => ({ name: `@${name}`, value })),
  };
}
