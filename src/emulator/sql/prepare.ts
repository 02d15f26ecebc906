import { holdsAggregate } from './aggregate.ts';
import type { Expr, Query } from './ast.ts';
import type { Row, Scope } from './compile.ts';
import { parseQuery } from './parse.ts';
import { select } from './select.ts';

/** What a query reads: a document and its text, which goes out unchanged where the query asks for it whole. */
export interface Readable {
  readonly doc: Record<string, unknown>;
  readonly text: string;
}

/** A condition that every result fulfils: the value at `path` is one of `values`, or not below `low` nor above `high`. */
export interface Restriction {
  readonly path: readonly string[];
  readonly values?: readonly unknown[];
  readonly low?: string | number;
  readonly high?: string | number;
}

export interface Prepared {
  readonly restrictions: readonly Restriction[];
  /** What the results are ordered by; the path is absent where it isn't one of the document. */
  readonly orderBy: readonly { readonly path: string[] | undefined; readonly descending: boolean }[];
  /** Whether results come as documents are read, without an end known beforehand. */
  readonly streams: boolean;
  /** Whether it counts: COUNT may include what has expired. */
  readonly counts: boolean;
  /** The results as JSON text, made as they are asked for; documents are read one by one unless sorted or grouped. */
  run(documents: Iterable<Readable>): Generator<string, void>;
}

const MAX_CACHED = 500;
const cache = new Map<string, Query>();

function parsed(text: string): Query {
  let query = cache.get(text);
  if (!query) {
    query = parseQuery(text);
    if (cache.size >= MAX_CACHED) cache.clear();
    cache.set(text, query);
  }
  return query;
}

/** Parses and compiles; throws SqlError. */
export function prepare(text: string, params: ReadonlyMap<string, unknown>): Prepared {
  const query = parsed(text);
  const whole = isWhole(query);
  const scope: Scope = { slots: new Map(), params, counter: { next: 2 }, select };
  let documents: Iterable<Readable> = [];
  function* rows(): Generator<Row, void> {
    for (const document of documents) yield [document.doc, document];
  }
  // A query that wants whole documents selects what they were read from (slot 1) instead.
  const run = select(whole ? { ...query, bare: true, columns: [{ expr: READ_FROM }] } : query, wholeScope(scope), rows);
  return {
    restrictions: restrictionsOf(query, params),
    orderBy: (query.orderBy ?? []).map(({ expr, descending }) => ({
      path: pathOf(expr, rootAlias(query) ?? ''),
      descending,
    })),
    counts: counting(query),
    streams: streaming(query),
    *run(given) {
      documents = given;
      for (const value of run([])) yield whole ? (value as Readable).text : JSON.stringify(value);
    },
  };
}

const READ_FROM: Expr = { kind: 'name', name: '$read', at: 0 };
const wholeScope = (scope: Scope): Scope => ({ ...scope, slots: new Map([['$read', 1]]) });

/** The name of the document in the query's WHERE, if its one source is the container itself. */
function rootAlias({ from }: Query): string | undefined {
  const [source] = from;
  return source && !source.each && source.of.kind === 'name' ? source.alias : undefined;
}

function isWhole(query: Query): boolean {
  const alias = rootAlias(query);
  if (alias === undefined || query.distinct || query.groupBy) return false;
  if (query.columns === '*') return query.from.length === 1;
  const [only] = query.columns;
  return query.bare && only?.expr.kind === 'name' && only.expr.name === alias;
}

const streaming = ({ columns, groupBy, orderBy, distinct, top, offset }: Query): boolean =>
  !groupBy &&
  !orderBy &&
  !distinct &&
  !top &&
  !offset &&
  (columns === '*' || !columns.some(({ expr }) => holdsAggregate(expr)));

const counting = ({ columns }: Query): boolean =>
  columns !== '*' && columns.some(({ expr }) => expr.kind === 'call' && expr.name === 'COUNT');

function restrictionsOf(query: Query, params: ReadonlyMap<string, unknown>): Restriction[] {
  const alias = rootAlias(query);
  if (alias === undefined || !query.where) return [];
  const found: Restriction[] = [];
  const add = (expr: Expr, values: readonly unknown[] | undefined): void => {
    const path = pathOf(expr, alias);
    if (path && values) found.push({ path, values });
  };
  const bound = (expr: Expr, low: Expr | undefined, high: Expr | undefined): void => {
    const path = pathOf(expr, alias);
    const [from, to] = [low, high].map((each) => each && literals([each], params)?.[0]);
    const [first = to] = [from];
    // Both ends of one type, as nothing of another can be between.
    if (!path || (typeof first !== 'number' && typeof first !== 'string')) return;
    if ((low && typeof from !== typeof first) || (high && typeof to !== typeof first)) return;
    const empty = typeof first === 'string' ? '' : -Infinity;
    found.push({
      path,
      low: (from as string | number | undefined) ?? empty,
      ...(to === undefined ? {} : { high: to as string | number }),
    });
  };
  const visit = (expr: Expr): void => {
    if (expr.kind === 'binary' && expr.op === 'AND') {
      visit(expr.left);
      visit(expr.right);
    } else if (expr.kind === 'binary' && expr.op === '=') {
      add(expr.left, literals([expr.right], params));
      add(expr.right, literals([expr.left], params));
    } else if (expr.kind === 'binary' && (expr.op === '<' || expr.op === '<=')) {
      bound(expr.left, undefined, expr.right);
      bound(expr.right, expr.left, undefined);
    } else if (expr.kind === 'binary' && (expr.op === '>' || expr.op === '>=')) {
      bound(expr.left, expr.right, undefined);
      bound(expr.right, undefined, expr.left);
    } else if (expr.kind === 'between') bound(expr.of, expr.low, expr.high);
    else if (expr.kind === 'in') add(expr.of, literals(expr.list, params));
    else if (expr.kind === 'call' && expr.name === 'ARRAY_CONTAINS' && expr.args.length === 2) {
      const list = literals([expr.args[0]!], params)?.[0];
      add(expr.args[1]!, Array.isArray(list) ? (list as unknown[]) : undefined);
    }
  };
  visit(query.where);
  return intervals(found);
}

/** Puts the two ends of a path's range together, so that an index is asked for what lies between. */
function intervals(restrictions: readonly Restriction[]): Restriction[] {
  const joined: Restriction[] = [];
  for (const next of restrictions) {
    const at = joined.findIndex(
      ({ path, values, low }) => !values && !next.values && typeof low === typeof next.low && samePath(path, next.path),
    );
    const known = joined[at];
    if (!known) joined.push(next);
    else joined[at] = narrowed(known, next);
  }
  return joined;
}

const samePath = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((step, i) => step === b[i]);

function narrowed(a: Restriction, b: Restriction): Restriction {
  const low = a.low! > b.low! ? a.low! : b.low!;
  const high = a.high === undefined || (b.high !== undefined && b.high < a.high) ? b.high : a.high;
  return { path: a.path, low, ...(high === undefined ? {} : { high }) };
}

function literals(exprs: readonly Expr[], params: ReadonlyMap<string, unknown>): unknown[] | undefined {
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

function pathOf(expr: Expr, alias: string): string[] | undefined {
  if (expr.kind === 'name') return expr.name === alias ? [] : undefined;
  if (expr.kind !== 'member' || expr.key.kind !== 'constant' || typeof expr.key.value !== 'string') return undefined;
  const before = pathOf(expr.of, alias);
  return before && [...before, expr.key.value];
}
