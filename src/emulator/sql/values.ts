import { canonical } from '../../base/json.ts';

const RANKS: Record<string, number> = { undefined: 0, boolean: 2, number: 3, string: 4 };

/** The order of types: undefined, null, booleans, numbers, strings, arrays, objects. */
export function rank(value: unknown): number {
  if (value === null) return 1;
  if (typeof value === 'object') return Array.isArray(value) ? 5 : 6;
  return RANKS[typeof value]!;
}

/** A total order over all values, as ORDER BY, MIN and MAX use it. */
export function compareAny(a: unknown, b: unknown): number {
  const ranks = rank(a) - rank(b);
  if (ranks !== 0) return ranks;
  if (typeof a === 'object' && a !== null) return order(canonical(a), canonical(b));
  return order(a as string | number, b as string | number);
}

const order = (a: string | number, b: string | number): number => (a < b ? -1 : a > b ? 1 : 0);

/** Deep equality of defined values; different types are unequal. */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => sameValue(item, b[i]));
  }
  if (Array.isArray(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every(
      (name) =>
        Object.hasOwn(b, name) && sameValue((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name]),
    )
  );
}

/** `=`: values of different types are unequal; a comparison with undefined is undefined (ASM-E20). */
export function equals(a: unknown, b: unknown): boolean | undefined {
  return a === undefined || b === undefined ? undefined : sameValue(a, b);
}

export function differs(a: unknown, b: unknown): boolean | undefined {
  return a === undefined || b === undefined ? undefined : !sameValue(a, b);
}

/** Order comparisons are defined between two values of one type other than array and object, else they are undefined. */
export function compares(op: string, a: unknown, b: unknown): boolean | undefined {
  if (a === null && b === null) return op === '<=' || op === '>=';
  if (typeof a !== typeof b || typeof a === 'object' || a === undefined) return undefined;
  const left = a as number;
  const right = b as number;
  if (op === '<') return left < right;
  if (op === '<=') return left <= right;
  return op === '>' ? left > right : left >= right;
}

/** A member of an object or an element of an array, own properties only. */
export function member(of: unknown, key: unknown): unknown {
  if (typeof of !== 'object' || of === null) return undefined;
  if (Array.isArray(of)) return typeof key === 'number' ? of[key] : undefined;
  return typeof key === 'string' && Object.hasOwn(of, key) ? (of as Record<string, unknown>)[key] : undefined;
}

/** Like `object[name] = value`, but safe for names such as `__proto__`. */
export function define(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
  else object[name] = value;
}
