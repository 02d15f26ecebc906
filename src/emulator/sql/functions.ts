import { DATE_FUNCTIONS } from './date-functions.ts';
import { rank, same } from './values.ts';

/** A scalar function. Arguments of a wrong type, undefined among them, give undefined. */
export interface Fn {
  readonly least: number;
  readonly most: number;
  call(args: readonly unknown[]): unknown;
}

const isNumber = (value: unknown): value is number => typeof value === 'number';
const isString = (value: unknown): value is string => typeof value === 'string';

const fn = (least: number, most: number, call: (args: readonly unknown[]) => unknown): Fn => ({ least, most, call });
const type = (test: (value: unknown) => boolean): Fn => fn(1, 1, ([value]) => test(value));

/** NaN and the infinities have no JSON: they come out as undefined. */
const finite = (value: number): number | undefined => (Number.isFinite(value) ? value : undefined);

const math = (of: (value: number) => number): Fn =>
  fn(1, 1, ([value]) => (isNumber(value) ? finite(of(value)) : undefined));
const math2 = (of: (a: number, b: number) => number): Fn =>
  fn(2, 2, ([a, b]) => (isNumber(a) && isNumber(b) ? finite(of(a, b)) : undefined));
const text = (of: (value: string) => unknown): Fn => fn(1, 1, ([value]) => (isString(value) ? of(value) : undefined));

/** Two strings and an optional third argument that turns case off. */
const search = (of: (text: string, part: string) => boolean): Fn =>
  fn(2, 3, ([a, b, ignoreCase]) => {
    if (!isString(a) || !isString(b)) return undefined;
    return ignoreCase === true ? of(a.toLowerCase(), b.toLowerCase()) : of(a, b);
  });

/** Whether an element equals `wanted`, or with `partial` has all its members. */
function arrayContains(list: unknown, wanted: unknown, partial: unknown): boolean | undefined {
  if (!Array.isArray(list) || wanted === undefined) return undefined;
  if (partial !== true || rank(wanted) !== 6) return list.some((item) => same(item, wanted));
  const members = Object.entries(wanted as Record<string, unknown>);
  return list.some(
    (item: unknown) =>
      rank(item) === 6 &&
      members.every(
        ([name, value]) => Object.hasOwn(item as object, name) && same((item as Record<string, unknown>)[name], value),
      ),
  );
}

function toText(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  return isString(value) ? value : JSON.stringify(value);
}

function parsed(value: unknown, wanted: (value: unknown) => boolean): unknown {
  if (!isString(value)) return undefined;
  try {
    const result: unknown = JSON.parse(value);
    return wanted(result) ? result : undefined;
  } catch {
    return undefined;
  }
}

function substring(value: unknown, start: unknown, length: unknown): string | undefined {
  if (!isString(value) || !isNumber(start) || !isNumber(length)) return undefined;
  return length <= 0 || start < 0 ? '' : value.slice(start, start + length);
}

function slice(list: unknown, start: unknown, length: unknown): unknown {
  if (!Array.isArray(list) || !isNumber(start) || (length !== undefined && !isNumber(length))) return undefined;
  const from = start < 0 ? Math.max(0, list.length + start) : start;
  return list.slice(from, length === undefined ? undefined : Math.max(from, from + length));
}

function setOf(lists: readonly unknown[], keep: (value: unknown, other: unknown[]) => boolean): unknown {
  const [a, b] = lists;
  if (!Array.isArray(a) || !Array.isArray(b)) return undefined;
  const result: unknown[] = [];
  for (const value of a) if (keep(value, b) && !result.some((known) => same(known, value))) result.push(value);
  return result;
}

/** Half away from zero, as the service rounds. */
function round(value: number, digits: number): number {
  const scale = 10 ** digits;
  return (Math.sign(value) * Math.round(Math.abs(value) * scale)) / scale;
}

function pad(side: 'padStart' | 'padEnd'): Fn {
  return fn(2, 3, ([value, length, filler = ' ']) =>
    isString(value) && isNumber(length) && isString(filler) ? value[side](length, filler).slice(0, length) : undefined,
  );
}

function regex(value: unknown, pattern: unknown, flags: unknown): boolean | undefined {
  if (!isString(value) || !isString(pattern)) return undefined;
  try {
    return new RegExp(pattern, isString(flags) ? flags.replaceAll(/[^imsx]/g, '').replace('x', '') : '').test(value);
  } catch {
    return undefined;
  }
}

/** The first capture, or the whole match where the pattern has none. */
function extract(value: unknown, pattern: unknown): unknown {
  if (!isString(value) || !isString(pattern)) return undefined;
  try {
    const found = new RegExp(pattern).exec(value);
    return found ? (found[1] ?? found[0]) : undefined;
  } catch {
    return undefined;
  }
}

/** Whole numbers of 64 bits; what leaves 53 of them isn't a number that JSON carries exactly. */
const bits = (of: (a: bigint, b: bigint) => bigint): Fn =>
  fn(2, 2, ([a, b]) =>
    Number.isSafeInteger(a) && Number.isSafeInteger(b)
      ? Number(BigInt.asIntN(64, of(BigInt(a as number), BigInt(b as number))))
      : undefined,
  );

export const FUNCTIONS: ReadonlyMap<string, Fn> = new Map<string, Fn>(
  Object.entries({
    IS_DEFINED: type((value) => value !== undefined),
    IS_NULL: type((value) => value === null),
    IS_STRING: type(isString),
    IS_NUMBER: type(isNumber),
    IS_INTEGER: type((value) => Number.isSafeInteger(value)),
    IS_FINITE_NUMBER: type((value) => Number.isFinite(value)),
    IS_BOOL: type((value) => typeof value === 'boolean'),
    IS_ARRAY: type(Array.isArray),
    IS_OBJECT: type((value) => rank(value) === 6),
    IS_PRIMITIVE: type((value) => rank(value) >= 1 && rank(value) <= 4),

    STARTSWITH: search((a, b) => a.startsWith(b)),
    ENDSWITH: search((a, b) => a.endsWith(b)),
    CONTAINS: search((a, b) => a.includes(b)),
    STRINGEQUALS: search((a, b) => a === b),
    REGEXMATCH: fn(2, 3, ([a, b, flags]) => regex(a, b, flags)),
    REGEXEXTRACT: fn(2, 2, ([a, b]) => extract(a, b)),
    INDEX_OF: fn(2, 3, ([a, b, from]) =>
      isString(a) && isString(b) ? a.indexOf(b, isNumber(from) ? from : 0) : undefined,
    ),
    LOWER: text((value) => value.toLowerCase()),
    UPPER: text((value) => value.toUpperCase()),
    TRIM: text((value) => value.trim()),
    LTRIM: text((value) => value.trimStart()),
    RTRIM: text((value) => value.trimEnd()),
    LENGTH: text((value) => value.length),
    REVERSE: text((value) => Array.from(value).toReversed().join('')),
    LEFT: fn(2, 2, ([a, n]) => substring(a, 0, n)),
    RIGHT: fn(2, 2, ([a, n]) => (isString(a) && isNumber(n) ? (n <= 0 ? '' : a.slice(-n)) : undefined)),
    SUBSTRING: fn(3, 3, ([a, start, length]) => substring(a, start, length)),
    REPLACE: fn(3, 3, ([a, b, c]) => (isString(a) && isString(b) && isString(c) ? a.split(b).join(c) : undefined)),
    REPLICATE: fn(2, 2, ([a, n]) =>
      isString(a) && isNumber(n) && n >= 0 && a.length * n <= 10_000 ? a.repeat(Math.floor(n)) : undefined,
    ),
    CONCAT: fn(1, 200, (args) => (args.every(isString) ? args.join('') : undefined)),
    LPAD: pad('padStart'),
    RPAD: pad('padEnd'),
    STRINGJOIN: fn(2, 2, ([list, by]) =>
      Array.isArray(list) && isString(by) && list.every(isString) ? list.join(by) : undefined,
    ),
    STRINGSPLIT: fn(2, 2, ([a, b]) => (isString(a) && isString(b) ? a.split(b) : undefined)),
    TOSTRING: fn(1, 1, ([value]) => toText(value)),
    STRINGTONUMBER: fn(1, 1, ([value]) => parsed(value, isNumber)),
    STRINGTOBOOLEAN: fn(1, 1, ([value]) => parsed(value, (v) => typeof v === 'boolean')),
    STRINGTONULL: fn(1, 1, ([value]) => parsed(value, (v) => v === null)),
    STRINGTOARRAY: fn(1, 1, ([value]) => parsed(value, Array.isArray)),
    STRINGTOOBJECT: fn(1, 1, ([value]) => parsed(value, (v) => rank(v) === 6)),

    ARRAY_CONTAINS: fn(2, 3, ([list, wanted, partial]) => arrayContains(list, wanted, partial)),
    ARRAY_CONTAINS_ANY: fn(2, 200, ([list, ...wanted]) =>
      Array.isArray(list) ? wanted.flat(1).some((value) => list.some((item) => same(item, value))) : undefined,
    ),
    ARRAY_CONTAINS_ALL: fn(2, 200, ([list, ...wanted]) =>
      Array.isArray(list) ? wanted.flat(1).every((value) => list.some((item) => same(item, value))) : undefined,
    ),
    ARRAY_LENGTH: fn(1, 1, ([list]) => (Array.isArray(list) ? list.length : undefined)),
    ARRAY_CONCAT: fn(2, 200, (lists) => (lists.every(Array.isArray) ? lists.flat(1) : undefined)),
    ARRAY_SLICE: fn(2, 3, ([list, start, length]) => slice(list, start, length)),
    SETINTERSECT: fn(2, 2, (lists) => setOf(lists, (value, other) => other.some((item) => same(item, value)))),
    SETUNION: fn(2, 2, ([a, b]) =>
      Array.isArray(a) && Array.isArray(b) ? setOf([[...a, ...b], []], () => true) : undefined,
    ),
    OBJECTTOARRAY: fn(1, 1, ([value]) =>
      rank(value) === 6 ? Object.entries(value as object).map(([k, v]: [string, unknown]) => ({ k, v })) : undefined,
    ),
    SETDIFFERENCE: fn(2, 2, (lists) => setOf(lists, (value, other) => !other.some((item) => same(item, value)))),
    CHOOSE: fn(2, 200, ([at, ...values]) => (isNumber(at) ? values[Math.trunc(at) - 1] : undefined)),
    DOCUMENTID: fn(1, 1, ([doc]) => (rank(doc) === 6 ? (doc as Record<string, unknown>)['_rid'] : undefined)),
    IIF: fn(3, 3, ([test, yes, no]) => (test === true ? yes : no)),

    ABS: math(Math.abs),
    ACOS: math(Math.acos),
    ASIN: math(Math.asin),
    ATAN: math(Math.atan),
    CEILING: math(Math.ceil),
    COS: math(Math.cos),
    COT: math((value) => 1 / Math.tan(value)),
    DEGREES: math((value) => (value * 180) / Math.PI),
    EXP: math(Math.exp),
    FLOOR: math(Math.floor),
    LOG10: math(Math.log10),
    RADIANS: math((value) => (value * Math.PI) / 180),
    SIGN: math(Math.sign),
    SIN: math(Math.sin),
    SQRT: math(Math.sqrt),
    SQUARE: math((value) => value * value),
    TAN: math(Math.tan),
    TRUNC: math(Math.trunc),
    ATN2: math2(Math.atan2),
    POWER: math2((a, b) => a ** b),
    INTBITAND: bits((a, b) => a & b),
    INTBITOR: bits((a, b) => a | b),
    INTBITXOR: bits((a, b) => a ^ b),
    INTBITLEFTSHIFT: bits((a, b) => a << (b & 63n)),
    INTBITRIGHTSHIFT: bits((a, b) => a >> (b & 63n)),
    INTBITNOT: fn(1, 1, ([a]) => (Number.isSafeInteger(a) ? Number(~BigInt(a as number)) : undefined)),
    INTADD: math2((a, b) => a + b),
    INTSUB: math2((a, b) => a - b),
    INTMUL: math2((a, b) => a * b),
    INTDIV: math2((a, b) => Math.trunc(a / b)),
    INTMOD: math2((a, b) => a % b),
    NUMBERBIN: math2((a, b) => Math.floor(a / b) * b),
    LOG: fn(1, 2, ([a, base]) =>
      isNumber(a) ? finite(isNumber(base) ? Math.log(a) / Math.log(base) : Math.log(a)) : undefined,
    ),
    ROUND: fn(1, 2, ([a, digits]) => (isNumber(a) ? finite(round(a, isNumber(digits) ? digits : 0)) : undefined)),
    PI: fn(0, 0, () => Math.PI),
    RAND: fn(0, 0, () => Math.random()),

    ...DATE_FUNCTIONS,
  } satisfies Record<string, Fn>),
);
