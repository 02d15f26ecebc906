// Documents that differ from one document in one field.
import { canonical, isObject } from '../../base/json.ts';
import type { Doc } from '../../definition/specs.ts';
import type { Limits } from './limits.ts';

/** A list may be compared by its length, but no list of thousands is made for a number that is an amount. */
const LONGEST = 50;
const DAY_MS = 86_400_000;
/** More days than a list of the best usually keeps, then the same day of another month and year. */
const DAYS = [1, 2, 3, 4, 5, 31, 366];

/** `others`: documents of the same type, whose values fit. `kept`: fields that stay. */
export function besides(like: Doc, others: readonly Doc[], limits: Limits, kept: ReadonlySet<string>): Doc[] {
  const fields = new Set(others.flatMap((other) => Object.keys(other)));
  return [...fields]
    .filter((field) => !kept.has(field))
    .flatMap((field) => {
      const { [field]: value, ...rest } = like;
      const theirs = others.filter((other) => field in other).map((other) => other[field]);
      const values = distinct([...valuesBeside(value, field, limits, stepOf(theirs)), ...theirs]);
      const changed = values
        .filter((other) => canonical(other) !== canonical(value ?? null))
        .map((other): Doc => ({ ...like, [field]: other }));
      return theirs.length < others.length && value !== undefined ? [...changed, rest] : changed;
    });
}

/** The smallest part of a whole that numbers of the examples have, such as 0.25; 1 for whole numbers. What is rounded shows by it. */
const stepOf = (values: readonly unknown[]): number =>
  Math.min(
    1,
    ...values.flatMap((value) => (typeof value === 'number' && value % 1 !== 0 ? [Math.abs(value % 1)] : [])),
  );

function valuesBeside(value: unknown, field: string, limits: Limits, step: number): unknown[] {
  if (typeof value === 'number')
    return [
      value + 1,
      2 * value + 3,
      ...limits.numbers.flatMap((limit) => [limit - 1, limit - step, limit, limit + step, limit + 1]),
    ];
  if (typeof value === 'boolean') return [!value];
  if (typeof value === 'string') {
    const compared = [field, ''].flatMap((name) => limits.texts.get(name) ?? []);
    return [...daysBeside(value), `${value}~`, ...compared];
  }
  if (Array.isArray(value)) return listsBeside(value, limits);
  return [];
}

/** `2001/01/01 00:47` keeps its form. */
function daysBeside(text: string): string[] {
  const [, year, sign = '-', month, day, time = ''] = /^(\d{4})([-/])(\d\d)\2(\d\d)(.*)$/s.exec(text) ?? [];
  if (year === undefined) return [];
  const ms = Date.UTC(Number(year), Number(month) - 1, Number(day));
  return DAYS.map((days) => new Date(ms + days * DAY_MS).toISOString().slice(0, 10).replaceAll('-', sign) + time);
}

function listsBeside(list: readonly unknown[], limits: Limits): unknown[][] {
  const [first] = list;
  const elements = isObject(first) ? besides(first, list.filter(isObject), limits, new Set()) : [];
  const lengths = limits.numbers
    .filter((limit) => limit > 1 && limit <= LONGEST)
    .flatMap((limit) => [limit, limit + 1]);
  const repeated =
    list.length === 0 ? [] : lengths.map((length) => Array.from({ length }, (_, at) => list[at % list.length]));
  return [[], [first], ...repeated, ...elements.map((element) => [element, ...list.slice(1)])];
}

const distinct = (values: readonly unknown[]): unknown[] => [
  ...new Map(values.map((value) => [canonical(value ?? null), value])).values(),
];
