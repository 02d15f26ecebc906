import { DATE_FUNCTIONS } from './date-functions.ts';
import { canonical } from '../../base/json.ts';
import { define, rank, same } from './values.ts';

/** A scalar function. Arguments of a wrong type give undefined. */
export interface Fn {
  readonly least: number;
  readonly most: number;
  /** Absent: one argument that is undefined makes the result undefined, an optional one too. */
  readonly takesUndefined?: true;
  call(args: readonly unknown[]): unknown;
}

/** "REPLICATE" in the query reference. */
const MAX_REPLICATED = 10_000;

const isNumber = (value: unknown): value is number => typeof value === 'number';
const isString = (value: unknown): value is string => typeof value === 'string';

const fn = (least: number, most: number, call: (args: readonly unknown[]) => unknown): Fn => ({ least, most, call });
const whole = (value: unknown): value is number => Number.isInteger(value);
const anyOf = (of: Fn): Fn => ({ ...of, takesUndefined: true });
const type = (test: (value: unknown) => boolean): Fn => anyOf(fn(1, 1, ([value]) => test(value)));

/** NaN and the infinities have no JSON: they come out as undefined. */
const finite = (value: number): number | undefined => (Number.isFinite(value) ? value : undefined);

const math = (of: (value: number) => number): Fn =>
  fn(1, 1, ([value]) => (isNumber(value) ? finite(of(value)) : undefined));
const math2 = (of: (a: number, b: number) => number): Fn =>
  fn(2, 2, ([a, b]) => (isNumber(a) && isNumber(b) ? finite(of(a, b)) : undefined));
const text = (of: (value: string) => unknown): Fn => fn(1, 1, ([value]) => (isString(value) ? of(value) : undefined));
/** Whole numbers of 64 bits, of which those above 53 bits aren't exact here. */
const isInteger = (value: unknown): value is number => Number.isInteger(value) && Math.abs(value as number) <= 2 ** 63;
const integers = (of: (a: number, b: number) => number): Fn =>
  fn(2, 2, ([a, b]) => (isInteger(a) && isInteger(b) ? finite(of(a, b)) : undefined));

/** Two strings and an optional third argument that turns case off. */
const search = (of: (text: string, part: string) => boolean): Fn =>
  fn(2, 3, ([a, b, ignoreCase]) => {
    if (!isString(a) || !isString(b) || (ignoreCase !== undefined && typeof ignoreCase !== 'boolean')) return undefined;
    return ignoreCase ? of(a.toLowerCase(), b.toLowerCase()) : of(a, b);
  });

/** Whether an element equals `wanted`, or with `partial` has all its members. */
function arrayContains(list: unknown, wanted: unknown, partial: unknown = false): boolean | undefined {
  if (!Array.isArray(list) || wanted === undefined || typeof partial !== 'boolean') return undefined;
  if (!partial || rank(wanted) !== 6) return list.some((item) => same(item, wanted));
  const members = Object.entries(wanted as Record<string, unknown>);
  return list.some(
    (item: unknown) =>
      rank(item) === 6 &&
      members.every(
        ([name, value]) => Object.hasOwn(item as object, name) && same((item as Record<string, unknown>)[name], value),
      ),
  );
}

const toText = (value: unknown): string => (isString(value) ? value : JSON.stringify(value));

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
  if (value === '') return '';
  if (!whole(start) || !whole(length)) return undefined;
  return length <= 0 || start < 0 ? '' : value.slice(start, start + length);
}

function lastOf(value: unknown, length: unknown): string | undefined {
  if (!isString(value) || !whole(length)) return undefined;
  return length <= 0 ? '' : value.slice(-length);
}

function slice(list: unknown, start: unknown, length: unknown = Number.MAX_SAFE_INTEGER): unknown {
  if (!Array.isArray(list) || !whole(start) || !whole(length)) return undefined;
  const from = start < 0 ? Math.max(0, list.length + start) : start;
  return list.slice(from, Math.max(from, from + length));
}

/** What is empty can't be found, so nothing is put in its place. */
function replace(value: unknown, part: unknown, by: unknown): string | undefined {
  return isString(value) && isString(part) && isString(by) && part !== '' ? value.split(part).join(by) : undefined;
}

/** Whole repetitions only, of 10,000 characters at most. */
function replicate(value: unknown, times: unknown): string | undefined {
  if (!isString(value) || !isNumber(times) || times < 0) return undefined;
  const count = Math.trunc(times);
  return value.length * count <= MAX_REPLICATED ? value.repeat(count) : undefined;
}

/** Values by their canonical text, so that to look one up costs the same among many. */
const setOf = (list: readonly unknown[]): Map<string, unknown> => {
  const set = new Map<string, unknown>();
  for (const value of list) {
    const key = canonical(value);
    if (!set.has(key)) set.set(key, value);
  }
  return set;
};

/** Each element of the first list once, of those that the second holds or doesn't hold. */
function filtered(list: unknown, by: unknown, held: boolean): unknown[] | undefined {
  if (!Array.isArray(list) || !Array.isArray(by)) return undefined;
  const others = setOf(by);
  return [...setOf(list)].filter(([key]) => others.has(key) === held).map(([, value]) => value);
}

function containsOf(list: unknown, wanted: readonly unknown[], all: boolean): boolean | undefined {
  if (!Array.isArray(list)) return undefined;
  const set = setOf(list);
  const found = (value: unknown): boolean => set.has(canonical(value));
  return all ? wanted.flat(1).every(found) : wanted.flat(1).some(found);
}

function pairs(value: unknown, key: unknown = 'k', name: unknown = 'v'): Record<string, unknown>[] | undefined {
  if (rank(value) !== 6 || !isString(key) || !isString(name)) return undefined;
  return Object.entries(value as object).map(([k, v]: [string, unknown]) => {
    const pair: Record<string, unknown> = {};
    define(pair, key, k);
    define(pair, name, v);
    return pair;
  });
}

/** What is left without the characters that are named, or white space, at the sides that are named. */
function trimming(sides: 'both' | 'left' | 'right'): Fn {
  return fn(1, 2, ([value, characters]) => {
    if (!isString(value) || (characters !== undefined && !isString(characters))) return undefined;
    const rest = sides === 'right' ? value : trimmedStart(value, characters);
    return sides === 'left' ? rest : trimmedEnd(rest, characters);
  });
}

function trimmedStart(value: string, characters: string | undefined): string {
  if (characters === undefined) return value.trimStart();
  let start = 0;
  while (start < value.length && characters.includes(value[start]!)) start++;
  return value.slice(start);
}

function trimmedEnd(value: string, characters: string | undefined): string {
  if (characters === undefined) return value.trimEnd();
  let end = value.length;
  while (end > 0 && characters.includes(value[end - 1]!)) end--;
  return value.slice(0, end);
}

/** The number of a document in its container, which its resource id ends with. */
function documentId(doc: unknown): number | undefined {
  const rid = rank(doc) === 6 ? (doc as Record<string, unknown>)['_rid'] : undefined;
  const bytes = Buffer.from(isString(rid) ? rid.replaceAll('-', '/') : '', 'base64');
  return bytes.length === 16 ? Number(bytes.readBigUInt64LE(8)) : undefined;
}

/** By the two bases that have a function of their own, as others are a division that may miss the last digit. */
function logarithm(value: unknown, base: unknown): number | undefined {
  if (!isNumber(value) || (base !== undefined && !isNumber(base))) return undefined;
  if (base === 10) return finite(Math.log10(value));
  if (base === 2) return finite(Math.log2(value));
  return finite(base === undefined ? Math.log(value) : Math.log(value) / Math.log(base));
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
    IS_INTEGER: type(isInteger),
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
    INDEX_OF: fn(2, 3, ([a, b, from = 0]) =>
      isString(a) && isString(b) && isNumber(from) ? a.indexOf(b, from) : undefined,
    ),
    LOWER: text((value) => value.toLowerCase()),
    UPPER: text((value) => value.toUpperCase()),
    TRIM: trimming('both'),
    LTRIM: trimming('left'),
    RTRIM: trimming('right'),
    LENGTH: text((value) => value.length),
    REVERSE: text((value) => Array.from(value).toReversed().join('')),
    LEFT: fn(2, 2, ([a, n]) => substring(a, 0, n)),
    RIGHT: fn(2, 2, ([a, n]) => lastOf(a, n)),
    SUBSTRING: fn(3, 3, ([a, start, length]) => substring(a, start, length)),
    REPLACE: fn(3, 3, ([a, b, c]) => replace(a, b, c)),
    REPLICATE: fn(2, 2, ([a, n]) => replicate(a, n)),
    CONCAT: fn(2, 200, (args) => (args.every(isString) ? args.join('') : undefined)),
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

    ARRAY_CONTAINS: anyOf(fn(2, 3, ([list, wanted, partial]) => arrayContains(list, wanted, partial))),
    ARRAY_CONTAINS_ANY: fn(2, 200, ([list, ...wanted]) => containsOf(list, wanted, false)),
    ARRAY_CONTAINS_ALL: fn(2, 200, ([list, ...wanted]) => containsOf(list, wanted, true)),
    ARRAY_LENGTH: fn(1, 1, ([list]) => (Array.isArray(list) ? list.length : undefined)),
    ARRAY_CONCAT: fn(2, 200, (lists) => (lists.every(Array.isArray) ? lists.flat(1) : undefined)),
    ARRAY_SLICE: fn(2, 3, ([list, start, length]) => slice(list, start, length)),
    // In the order of the second list, as the query reference shows it.
    SETINTERSECT: fn(2, 2, ([a, b]) => filtered(b, a, true)),
    SETUNION: fn(2, 2, ([a, b]) =>
      Array.isArray(a) && Array.isArray(b) ? [...setOf([...a, ...b]).values()] : undefined,
    ),
    SETDIFFERENCE: fn(2, 2, ([a, b]) => filtered(a, b, false)),
    OBJECTTOARRAY: fn(1, 3, ([value, key, name]) => pairs(value, key, name)),
    CHOOSE: anyOf(fn(2, 200, ([at, ...values]) => (isNumber(at) ? values[Math.trunc(at) - 1] : undefined))),
    DOCUMENTID: fn(1, 1, ([doc]) => documentId(doc)),
    IIF: anyOf(fn(3, 3, ([test, yes, no]) => (test === true ? yes : no))),

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
    INTADD: integers((a, b) => a + b),
    INTSUB: integers((a, b) => a - b),
    INTMUL: integers((a, b) => a * b),
    INTDIV: integers((a, b) => Math.trunc(a / b)),
    INTMOD: integers((a, b) => a % b),
    NUMBERBIN: math2((a, b) => Math.floor(a / b) * b),
    LOG: fn(1, 2, ([a, base]) => logarithm(a, base)),
    ROUND: fn(1, 2, ([a, digits = 0]) => (isNumber(a) && isNumber(digits) ? finite(round(a, digits)) : undefined)),
    PI: fn(0, 0, () => Math.PI),
    RAND: fn(0, 0, () => Math.random()),

    ...DATE_FUNCTIONS,
  } satisfies Record<string, Fn>),
);
