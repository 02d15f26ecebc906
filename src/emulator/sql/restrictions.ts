import type { Expr } from './ast.ts';

type Params = ReadonlyMap<string, unknown>;

/** The value at `path` is one of `values`, or between `low` and `high`, both included. */
export interface QueryBound {
  readonly path: readonly string[];
  readonly values?: readonly unknown[];
  readonly low?: string | number;
  readonly high?: string | number;
}

/** A condition of every result: a bound, or all conditions of at least one alternative. */
export type Restriction = QueryBound | { readonly anyOf: readonly (readonly Restriction[])[] };

export const isBound = (restriction: Restriction): restriction is QueryBound => 'path' in restriction;

/** The paths for which an index could be used, each once. */
export function queryPathsOf(restrictions: readonly Restriction[], found = new Set<string>()): ReadonlySet<string> {
  for (const restriction of restrictions) {
    if (isBound(restriction)) found.add(JSON.stringify(restriction.path));
    else for (const alternative of restriction.anyOf) queryPathsOf(alternative, found);
  }
  return found;
}

/** The restrictions of a WHERE on properties of the document `alias` that an index could use. */
export function restrictionsOf(where: Expr, alias: string, params: Params): Restriction[] {
  if (where.kind === 'binary') return binary(where, alias, params);
  if (where.kind === 'between') return range(where.of, where.low, where.high, alias, params);
  if (where.kind === 'in') return oneOf(where.of, literals(where.list, params), alias);
  if (where.kind === 'call') return called(where, alias, params);
  if (where.kind !== 'like' || where.escape !== undefined) return [];
  return prefixed(where.of, likePrefix(where.pattern, params), alias);
}

function binary({ op, left, right }: Expr & { kind: 'binary' }, alias: string, params: Params): Restriction[] {
  switch (op) {
    case 'AND':
      return intervals(
        conjuncts({ kind: 'binary', op, left, right }).flatMap((each) => restrictionsOf(each, alias, params)),
      );
    case 'OR':
      return either(restrictionsOf(left, alias, params), restrictionsOf(right, alias, params));
    case '=':
      return [...oneOf(left, literals([right], params), alias), ...oneOf(right, literals([left], params), alias)];
    case '<':
    case '<=':
      return [...range(left, undefined, right, alias, params), ...range(right, left, undefined, alias, params)];
    case '>':
    case '>=':
      return [...range(left, right, undefined, alias, params), ...range(right, undefined, left, alias, params)];
    default:
      return [];
  }
}

/** The operands of a chain of ANDs, each once. */
function conjuncts(expr: Expr): Expr[] {
  const found: Expr[] = [];
  const open = [expr];
  for (let next = open.pop(); next; next = open.pop()) {
    if (next.kind === 'binary' && next.op === 'AND') open.push(next.right, next.left);
    else found.push(next);
  }
  return found;
}

function called({ name, args }: Expr & { kind: 'call' }, alias: string, params: Params): Restriction[] {
  const [first, second] = args;
  if (!first || !second || args.length > 2) return [];
  if (name === 'STARTSWITH') return prefixed(first, literals([second], params)?.[0], alias);
  if (name !== 'ARRAY_CONTAINS') return [];
  const list = literals([first], params)?.[0];
  return oneOf(second, Array.isArray(list) ? (list as unknown[]) : undefined, alias);
}

/** OR gives no restriction if one side has none. Equalities at one path become one, like an `IN`. */
function either(left: readonly Restriction[], right: readonly Restriction[]): Restriction[] {
  if (left.length === 0 || right.length === 0) return [];
  const [a, b] = [left[0]!, right[0]!];
  if (left.length === 1 && right.length === 1 && isBound(a) && isBound(b)) {
    if (a.values && b.values && samePath(a.path, b.path)) return [{ path: a.path, values: [...a.values, ...b.values] }];
  }
  return [{ anyOf: [...alternatives(left), ...alternatives(right)] }];
}

function alternatives(side: readonly Restriction[]): readonly (readonly Restriction[])[] {
  const [only] = side;
  return side.length === 1 && only && !isBound(only) ? only.anyOf : [side];
}

function oneOf(of: Expr, values: readonly unknown[] | undefined, alias: string): Restriction[] {
  const path = pathOf(of, alias);
  return path && values ? [{ path, values }] : [];
}

function range(of: Expr, low: Expr | undefined, high: Expr | undefined, alias: string, params: Params): Restriction[] {
  const path = pathOf(of, alias);
  const [from, to] = [low, high].map((each) => each && literals([each], params)?.[0]);
  const [first = to] = [from];
  // Both ends have the same type, because values of other types can't be between them.
  if (!path || (typeof first !== 'number' && typeof first !== 'string')) return [];
  if ((low && typeof from !== typeof first) || (high && typeof to !== typeof first)) return [];
  const least = typeof first === 'string' ? '' : -Infinity;
  return [
    {
      path,
      low: (from as string | number | undefined) ?? least,
      ...(to === undefined ? {} : { high: to as string | number }),
    },
  ];
}

function prefixed(of: Expr, prefix: unknown, alias: string): Restriction[] {
  const path = pathOf(of, alias);
  if (!path || typeof prefix !== 'string' || prefix === '') return [];
  // The first text after all texts with this prefix: the successor replaces the last character.
  const kept = prefix.replace(/\uffff+$/, '');
  const last = kept.charCodeAt(kept.length - 1);
  const high = kept === '' ? undefined : kept.slice(0, -1) + String.fromCharCode(last + 1);
  return [{ path, low: prefix, ...(high === undefined ? {} : { high }) }];
}

/** The prefix of a LIKE pattern before its first wildcard. */
function likePrefix(pattern: Expr, params: Params): string | undefined {
  const text = literals([pattern], params)?.[0];
  return typeof text === 'string' ? /^[^%_[]*/.exec(text)![0] : undefined;
}

/** Combines the two ends of a path's range, so that an index reads only the values between them. */
function intervals(restrictions: readonly Restriction[]): Restriction[] {
  const joined = new Map<unknown, Restriction>();
  for (const next of restrictions) {
    const key = isBound(next) && !next.values ? JSON.stringify([typeof next.low, next.path]) : next;
    const known = joined.get(key);
    joined.set(key, known ? narrowed(known as QueryBound, next as QueryBound) : next);
  }
  return [...joined.values()];
}

const samePath = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((step, i) => step === b[i]);

function narrowed(a: QueryBound, b: QueryBound): QueryBound {
  const low = a.low! > b.low! ? a.low! : b.low!;
  const high = a.high === undefined || (b.high !== undefined && b.high < a.high) ? b.high : a.high;
  return { path: a.path, low, ...(high === undefined ? {} : { high }) };
}

function literals(exprs: readonly Expr[], params: Params): unknown[] | undefined {
  const values: unknown[] = [];
  for (const expr of exprs) {
    if (expr.kind === 'constant') values.push(expr.value);
    else if (expr.kind === 'param') values.push(params.get(expr.name));
    else if (expr.kind === 'array') {
      const items = literals(expr.items, params);
      if (!items) return undefined;
      values.push(items);
    } else return undefined;
  }
  return values;
}

/** The names of the path from the document to an expression's value, if the expression is a path. */
export function pathOf(expr: Expr, alias: string): string[] | undefined {
  if (expr.kind === 'name') return expr.name === alias ? [] : undefined;
  if (expr.kind !== 'member' || expr.key.kind !== 'constant' || typeof expr.key.value !== 'string') return undefined;
  const before = pathOf(expr.of, alias);
  return before && [...before, expr.key.value];
}
