import { canonical } from '../../base/json.ts';
import { DATE_FUNCTIONS } from './date-functions.ts';
import { fn, isNumber, isString, isWholeNumber } from './fn.ts';
import type { Fn, Tools } from './fn.ts';
import { TEXT_FUNCTIONS } from './text-functions.ts';
import { define, rank, sameValue } from './values.ts';

const anyOf = (of: Fn): Fn => ({ ...of, takesUndefined: true });
const type = (test: (value: unknown) => boolean): Fn => anyOf(fn(1, 1, ([value]) => test(value)));

/** NaN and the infinities have no JSON form: they become undefined. */
const finite = (value: number): number | undefined => (Number.isFinite(value) ? value : undefined);

const math = (of: (value: number) => number): Fn =>
  fn(1, 1, ([value]) => (isNumber(value) ? finite(of(value)) : undefined));
const math2 = (of: (a: number, b: number) => number): Fn =>
  fn(2, 2, ([a, b]) => (isNumber(a) && isNumber(b) ? finite(of(a, b)) : undefined));
/** Whole numbers of 64 bits, of which those above 53 bits aren't exact here. */
const isInteger = (value: unknown): value is number => Number.isInteger(value) && Math.abs(value as number) <= 2 ** 63;
const integers = (of: (a: number, b: number) => number): Fn =>
  fn(2, 2, ([a, b]) => (isInteger(a) && isInteger(b) ? finite(of(a, b)) : undefined));

/** Whether an element equals `wanted`, or with `partial` has all its members. */
function arrayContains([list, wanted, partial = false]: readonly unknown[], { meter }: Tools): boolean | undefined {
  if (!Array.isArray(list) || wanted === undefined || typeof partial !== 'boolean') return undefined;
  if (rank(wanted) > 4) meter.work(meter.sizeOf(list) + list.length * meter.sizeOf(wanted));
  if (!partial || rank(wanted) !== 6) return list.some((item) => sameValue(item, wanted));
  const members = Object.entries(wanted as Record<string, unknown>);
  return list.some(
    (item: unknown) =>
      rank(item) === 6 &&
      members.every(
        ([name, value]) =>
          Object.hasOwn(item as object, name) && sameValue((item as Record<string, unknown>)[name], value),
      ),
  );
}

function slice(list: unknown, start: unknown, length: unknown = Number.MAX_SAFE_INTEGER): unknown {
  if (!Array.isArray(list) || !isWholeNumber(start) || !isWholeNumber(length)) return undefined;
  const from = start < 0 ? Math.max(0, list.length + start) : start;
  return list.slice(from, Math.max(from, from + length));
}

function concat(lists: readonly unknown[], { meter }: Tools): unknown[] | undefined {
  if (!lists.every(Array.isArray)) return undefined;
  meter.make(lists.reduce((length, list) => length + list.length, 0));
  return lists.flat(1);
}

/** Values by their canonical text, so that a lookup costs the same among many values. */
const setOf = (list: readonly unknown[], { meter }: Tools): Map<string, unknown> => {
  meter.make(meter.sizeOf(list));
  meter.canonical(list);
  const set = new Map<string, unknown>();
  for (const value of list) {
    const key = canonical(value);
    if (!set.has(key)) set.set(key, value);
  }
  return set;
};

/** The elements of the first list, each once, that the second list contains or doesn't contain. */
function filtered(list: unknown, by: unknown, held: boolean, tools: Tools): unknown[] | undefined {
  if (!Array.isArray(list) || !Array.isArray(by)) return undefined;
  const others = setOf(by, tools);
  return [...setOf(list, tools)].filter(([key]) => others.has(key) === held).map(([, value]) => value);
}

function containsOf([list, ...wanted]: readonly unknown[], tools: Tools, all: boolean): boolean | undefined {
  if (!Array.isArray(list)) return undefined;
  const set = setOf(list, tools);
  const keys = [...setOf(wanted.flat(1), tools).keys()];
  return all ? keys.every((key) => set.has(key)) : keys.some((key) => set.has(key));
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

/** The number of a document in its container, which is the end of its resource id. */
function documentId(doc: unknown): number | undefined {
  const rid = rank(doc) === 6 ? (doc as Record<string, unknown>)['_rid'] : undefined;
  const bytes = Buffer.from(isString(rid) ? rid.replaceAll('-', '/') : '', 'base64');
  return bytes.length === 16 ? Number(bytes.readBigUInt64LE(8)) : undefined;
}

/** The two bases that have a function of their own; others need a division, which may be wrong in the last digit. */
function logarithm(value: unknown, base: unknown): number | undefined {
  if (!isNumber(value) || (base !== undefined && !isNumber(base))) return undefined;
  if (base === 10) return finite(Math.log10(value));
  if (base === 2) return finite(Math.log2(value));
  return finite(base === undefined ? Math.log(value) : Math.log(value) / Math.log(base));
}

/** Rounds half away from zero, like the service. */
function round(value: number, digits: number): number {
  const scale = 10 ** digits;
  return (Math.sign(value) * Math.round(Math.abs(value) * scale)) / scale;
}

/** Integers of 64 bits; JSON can't hold results above 53 bits exactly. */
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

    ARRAY_CONTAINS: anyOf(fn(2, 3, arrayContains)),
    ARRAY_CONTAINS_ANY: fn(2, 200, (args, tools) => containsOf(args, tools, false)),
    ARRAY_CONTAINS_ALL: fn(2, 200, (args, tools) => containsOf(args, tools, true)),
    ARRAY_LENGTH: fn(1, 1, ([list]) => (Array.isArray(list) ? list.length : undefined)),
    ARRAY_CONCAT: fn(2, 200, concat),
    ARRAY_SLICE: fn(2, 3, ([list, start, length]) => slice(list, start, length)),
    // In the order of the second list, as the query reference shows it.
    SETINTERSECT: fn(2, 2, ([a, b], tools) => filtered(b, a, true, tools)),
    SETUNION: fn(2, 2, ([a, b], tools) =>
      Array.isArray(a) && Array.isArray(b) ? [...setOf([...a, ...b], tools).values()] : undefined,
    ),
    SETDIFFERENCE: fn(2, 2, ([a, b], tools) => filtered(a, b, false, tools)),
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

    ...TEXT_FUNCTIONS,
    ...DATE_FUNCTIONS,
  } satisfies Record<string, Fn>),
);
