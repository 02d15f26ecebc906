import { canonical } from '../../base/json.ts';
import { queryPartsOf } from './ast.ts';
import type { Expr, SelectQuery, Source } from './ast.ts';
import { compile, projection } from './compile.ts';
import { Accumulator, holdsAggregate, isAggregate } from './aggregate.ts';
import { COMPARE_STEPS, KEY_BYTES, ROW_BYTES, ROW_STEPS } from './meter.ts';
import type { QueryMeter } from './meter.ts';
import { print } from './print.ts';
import { inner } from './scope.ts';
import type { Eval, Readable, QueryRow, Scope, Select } from './scope.ts';
import { SqlError } from './tokens.ts';
import { compareAny, rank } from './values.ts';
import type { Walk } from './walk.ts';

type Rows = (row: QueryRow) => Generator<QueryRow, void>;

/** Compiles a query whose sources are in `scope` (for the outermost query, the document in slot 0). */
export function select(query: SelectQuery, scope: Scope, outer?: Rows): Select {
  const sources = query.from.map((source, i) => rowsOf(source, scope, i === 0 ? outer : undefined));
  const where = query.where && compile(query.where, scope);
  const filtered = chain(sources, where, outer && scope.tools.meter);
  checkGrouping(query);
  const grouped = query.groupBy?.map((expr) => compile(expr, scope));
  const aggregating: Scope = { ...scope, aggregates: [] };
  const project = projection(query, aggregating);
  const aggregates = aggregating.aggregates!;
  const keys = query.orderBy?.map(({ expr, descending }) => ({ of: compile(expr, aggregating), descending }));
  const descending = (keys ?? []).map((key) => key.descending);
  const top = constant(query.top, scope);
  const offset = constant(query.offset, scope) ?? 0;
  const limit = constant(query.limit, scope) ?? top ?? Infinity;
  const { meter } = scope.tools;
  // What a subquery keeps lives only as long as the outer row, so it counts as memory of that row.
  const keep = outer ? (bytes: number) => meter.keep(bytes) : (bytes: number) => meter.make(bytes);

  return function* run(row, walk) {
    let rows: Iterable<QueryRow> = filtered(row);
    if (grouped || aggregates.length > 0) rows = group(rows, grouped, aggregates, row, meter, keep);
    const ranked: Iterable<Ranked> = keys ? sorted(rows, keys, meter, keep) : unsorted(rows);
    const seen = query.distinct ? new Set<string>() : undefined;
    let [skip, left] = bounds(offset, limit, walk);
    if (left <= 0) return;
    for (const { row: found, values } of ranked) {
      const passed = walk?.passes(values, (found[1] as Readable | undefined)?.seq ?? 0, descending) === true;
      // With DISTINCT, a passed row must still be recorded as seen.
      if (passed && !seen) continue;
      const value = project(found);
      if (value === undefined) continue;
      if (seen) {
        meter.canonical(value);
        const key = canonical(value);
        if (seen.has(key)) continue;
        keep(key.length + KEY_BYTES);
        seen.add(key);
      }
      if (passed || skip-- > 0) continue;
      yield value;
      if (--left <= 0) return;
    }
  };
}

/** With GROUP BY or aggregates, every column must be an aggregate or be made of the grouped expressions. */
function checkGrouping({ columns, groupBy, orderBy }: SelectQuery): void {
  const keys = new Set((groupBy ?? []).map(print));
  if (groupBy && orderBy) {
    throw new SqlError('SC2104', "'ORDER BY' is not supported in presence of GROUP BY.", 0, 0);
  }
  if (columns === '*') {
    if (groupBy) throw new SqlError('SC2103', "'SELECT *' is not valid in presence of GROUP BY.", 0, 0);
    return;
  }
  if (!groupBy && !columns.some(({ expr }) => holdsAggregate(expr))) return;
  for (const { expr } of columns) {
    const stray = strayName(expr, keys);
    if (stray === undefined) continue;
    const message = `Property reference '${stray}' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause.`;
    throw new SqlError('SC2103', message, 0, 0);
  }
}

function strayName(expr: Expr, keys: ReadonlySet<string>): string | undefined {
  if (keys.has(print(expr)) || (expr.kind === 'call' && isAggregate(expr.name))) return undefined;
  if (expr.kind === 'name' || expr.kind === 'member') return print(expr);
  for (const part of queryPartsOf(expr)) {
    const stray = strayName(part, keys);
    if (stray !== undefined) return stray;
  }
  return undefined;
}

function constant(expr: SelectQuery['top'], scope: Scope): number | undefined {
  if (!expr) return undefined;
  const value = compile(expr, { ...scope, slots: new Map() })([]);
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) {
    throw new SqlError('SC2062', 'TOP, OFFSET and LIMIT need a whole number that is not negative.', 0, 0);
  }
  return value;
}

/** Binds a source to a slot; returns a function that extends a row by it. */
function rowsOf(source: Source, scope: Scope, outer: Rows | undefined): Rows {
  const { meter } = scope.tools;
  if (source.of.kind === 'select') {
    const rows = select(source.of, inner(scope), outer);
    const slot = bind(source.alias, scope);
    return function* run(row) {
      for (const value of rows(row)) {
        if (!source.each) yield extended(row, slot, value, meter);
        else if (Array.isArray(value)) for (const item of value as unknown[]) yield extended(row, slot, item, meter);
      }
    };
  }
  const root = source.of;
  // Any name means the container, unless the name is bound already.
  const scoped = rootScope(root, scope);
  if (root.kind === 'name' && !source.each && scoped !== scope && outer) {
    rebind(scope, source.alias, 0);
    return outer;
  }
  const of = compile(root, scoped);
  const slot = bind(source.alias, scope);
  const rows: Rows = outer ?? once;
  return function* run(row) {
    for (const base of rows(row)) {
      const value = of(base);
      if (value === undefined) continue;
      if (!source.each) yield extended(base, slot, value, meter);
      else if (Array.isArray(value)) for (const item of value as unknown[]) yield extended(base, slot, item, meter);
    }
  };
}

function* once(row: QueryRow): Generator<QueryRow, void> {
  yield row;
}

function rootScope(expr: Source['of'], scope: Scope): Scope {
  let root = expr;
  while (root.kind === 'member') root = root.of;
  if (root.kind !== 'name' || scope.slots.has(root.name)) return scope;
  return { ...scope, slots: new Map([...scope.slots, [root.name, 0]]) };
}

function bind(alias: string, scope: Scope): number {
  const slot = scope.counter.next++;
  rebind(scope, alias === '' ? `$${slot}` : alias, slot);
  return slot;
}

/** Binds a name as the last one: `SELECT *` returns it. */
function rebind(scope: Scope, name: string, slot: number): void {
  scope.slots.delete(name);
  scope.slots.set(name, slot);
}

function extended(row: QueryRow, slot: number, value: unknown, meter: QueryMeter): QueryRow {
  meter.work(ROW_STEPS);
  const copy = row.slice();
  copy[slot] = value;
  return copy;
}

/** @param meter of the outermost query: each of its rows resets the limit of one row */
function chain(sources: readonly Rows[], where: Eval | undefined, meter: QueryMeter | undefined): Rows {
  let rows: Rows = sources[0] ?? once;
  for (const next of sources.slice(1)) {
    const before = rows;
    rows = function* joined(row) {
      for (const base of before(row)) yield* next(base);
    };
  }
  if (!where && !meter) return rows;
  return function* filtered(row) {
    for (const found of rows(row)) {
      meter?.row();
      if (!where || where(found) === true) yield found;
    }
  };
}

function* group(
  rows: Iterable<QueryRow>,
  keys: readonly Eval[] | undefined,
  aggregates: NonNullable<Scope['aggregates']>,
  outer: QueryRow,
  meter: QueryMeter,
  keep: (bytes: number) => void,
): Generator<QueryRow, void> {
  const groups = new Map<string, { first: QueryRow; totals: Accumulator[] }>();
  const open = (first: QueryRow) => ({
    first,
    totals: aggregates.map(({ name }) => new Accumulator(name, (value) => keep(meter.sizeOf(value)))),
  });
  for (const row of rows) {
    const values = (keys ?? []).map((of) => wrapped(of(row)));
    for (const value of values) meter.canonical(value);
    const key = keys ? canonical(values) : '';
    let found = groups.get(key);
    if (!found) {
      keep(key.length + ROW_BYTES * (1 + aggregates.length));
      groups.set(key, (found = open(row)));
    }
    aggregates.forEach(({ argument }, i) => found.totals[i]!.add(argument(row)));
  }
  // Aggregates without GROUP BY give a result even without rows.
  if (!keys && groups.size === 0) groups.set('', open(outer.slice()));
  for (const { first, totals } of groups.values()) {
    const row = first.slice();
    aggregates.forEach(({ slot }, i) => (row[slot] = totals[i]!.result));
    yield row;
  }
}

/** Null and a missing value are different groups. */
const wrapped = (value: unknown): unknown[] => (value === undefined ? [] : [value]);

/** How many results are skipped, and how many are returned after that. */
function bounds(offset: number, limit: number, walk: Walk | undefined): [skip: number, left: number] {
  const from = walk?.from;
  if (!from) return [offset, limit];
  return [from.values ? 0 : offset + from.delivered, limit - from.delivered];
}

/** A row and its ORDER BY values. */
interface Ranked {
  readonly row: QueryRow;
  readonly values?: readonly unknown[];
}

function* unsorted(rows: Iterable<QueryRow>): Generator<Ranked, void> {
  for (const row of rows) yield { row };
}

function sorted(
  rows: Iterable<QueryRow>,
  keys: readonly { of: Eval; descending: boolean }[],
  meter: QueryMeter,
  keep: (bytes: number) => void,
): Ranked[] {
  const keyed: { row: QueryRow; values: unknown[] }[] = [];
  for (const row of rows) {
    const values = keys.map(({ of }) => of(row));
    keep(values.reduce<number>((bytes, value) => bytes + meter.sizeOf(value), ROW_BYTES));
    keyed.push({ row, values });
  }
  return keyed.toSorted((a, b) => {
    meter.work(COMPARE_STEPS);
    for (let i = 0; i < keys.length; i++) {
      const parts = rank(a.values[i]) > 4 && rank(b.values[i]) > 4;
      if (parts) [a, b].forEach(({ values }) => meter.canonical(values[i]));
      const order = compareAny(a.values[i], b.values[i]);
      if (order !== 0) return keys[i]!.descending ? -order : order;
    }
    return 0;
  });
}
