import type { SelectColumn, Expr, SelectQuery } from './ast.ts';
import { lastName, parseQuery } from './parse.ts';
import { print, printQuery } from './print.ts';
import { SqlError } from './tokens.ts';

/** What the client must do with the results of the partitions, in the service's terms. */
export interface QueryInfo {
  readonly distinctType: 'None' | 'Ordered' | 'Unordered';
  readonly top: number | null;
  readonly offset: number | null;
  readonly limit: number | null;
  readonly orderBy: readonly ('Ascending' | 'Descending')[];
  readonly orderByExpressions: readonly string[];
  readonly groupByExpressions: readonly string[];
  readonly groupByAliases: readonly string[];
  readonly aggregates: readonly string[];
  readonly groupByAliasToAggregateType: Readonly<Record<string, string | null>>;
  /** The query for one partition; empty: the original one. */
  readonly rewrittenQuery: string;
  readonly hasSelectValue: boolean;
  readonly hasNonStreamingOrderBy: boolean;
}

/** The client replaces this by a condition when it continues in the middle of an order. */
const FILTER = '({documentdb-formattableorderbyquery-filter})';

const AGGREGATES: Readonly<Record<string, string>> = {
  COUNT: 'Count',
  COUNTIF: 'CountIf',
  MAKELIST: 'MakeList',
  MAKESET: 'MakeSet',
  SUM: 'Sum',
  MIN: 'Min',
  MAX: 'Max',
  AVG: 'Average',
};

/** Plans a query: one query for each partition, and how the client combines their results. Throws SqlError. */
export function scanPlanOf(text: string, params: ReadonlyMap<string, unknown>): QueryInfo {
  const query = parseQuery(text);
  const number = (expr: Expr | undefined): number | null => {
    const value = expr?.kind === 'param' ? params.get(expr.name) : expr?.kind === 'constant' ? expr.value : undefined;
    return typeof value === 'number' ? value : null;
  };
  const top = number(query.top);
  const offset = number(query.offset);
  const limit = number(query.limit);
  const grouped = (query.groupBy ?? []).length > 0 || columnsOf(query).some(({ expr }) => aggregateOf(expr));
  const info: QueryInfo = {
    distinctType: distinctType(query),
    top,
    offset,
    limit,
    orderBy: (query.orderBy ?? []).map(({ descending }) => (descending ? 'Descending' : 'Ascending')),
    orderByExpressions: (query.orderBy ?? []).map(({ expr }) => print(expr)),
    groupByExpressions: (query.groupBy ?? []).map(print),
    groupByAliases: [],
    aggregates: [],
    groupByAliasToAggregateType: {},
    rewrittenQuery: '',
    hasSelectValue: query.bare,
    hasNonStreamingOrderBy: false,
  };
  if (grouped) return { ...info, ...groupedParts(query) };
  if (!query.orderBy && !query.offset) return info;
  // All skipped and returned results may come from one partition. In an ordered query the client removes duplicates, so
  // the number of results that it needs of a partition isn't known.
  const bounds =
    query.distinct && query.orderBy
      ? {}
      : query.offset
        ? { offset: constant(0), limit: constant((offset ?? 0) + (limit ?? 0)) }
        : { ...(query.top && { top: query.top }) };
  const { top: _top, offset: _offset, limit: _limit, ...rest } = query;
  if (!query.orderBy) return { ...info, rewrittenQuery: printQuery({ ...rest, ...bounds }) };
  const items = query.orderBy.map(({ expr }) => object([['item', expr]]));
  const rewritten: SelectQuery = {
    ...rest,
    ...bounds,
    distinct: false,
    bare: false,
    columns: [
      { expr: member(query, '_rid'), alias: '_rid' },
      { expr: { kind: 'array', items }, alias: 'orderByItems' },
      { expr: payload(query), alias: 'payload' },
    ],
    where: query.where ? { kind: 'binary', op: 'AND', left: query.where, right: HOLE } : HOLE,
  };
  return { ...info, rewrittenQuery: printQuery(rewritten) };
}

const constant = (value: number): Expr => ({ kind: 'constant', value });
const object = (members: readonly (readonly [string, Expr])[]): Expr => ({ kind: 'object', members });
const HOLE: Expr = { kind: 'name', name: FILTER, at: 0 };

const columnsOf = ({ columns }: SelectQuery): readonly SelectColumn[] => (columns === '*' ? [] : columns);

const aggregateOf = (expr: Expr): string | undefined => (expr.kind === 'call' ? AGGREGATES[expr.name] : undefined);

function distinctType(query: SelectQuery): QueryInfo['distinctType'] {
  if (!query.distinct) return 'None';
  const [only] = columnsOf(query);
  const [key, ...more] = query.orderBy ?? [];
  return query.bare && only && key && more.length === 0 && print(only.expr) === print(key.expr)
    ? 'Ordered'
    : 'Unordered';
}

/** A property of the document of the first source. */
function member({ from }: SelectQuery, name: string): Expr {
  const [source] = from;
  if (!source || source.alias === '') return { kind: 'constant', value: undefined };
  const of: Expr = { kind: 'name', name: source.alias, at: 0 };
  return { kind: 'member', of, key: { kind: 'constant', value: name } };
}

function named(columns: readonly SelectColumn[]): (readonly [string, Expr])[] {
  let unnamed = 0;
  return columns.map(({ expr, alias }) => {
    const name = alias ?? lastName(expr);
    return [name === '' ? `$${++unnamed}` : name, expr] as const;
  });
}

/** The result for a row, as one expression. */
function payload(query: SelectQuery): Expr {
  const columns = columnsOf(query);
  if (query.bare) return columns[0]!.expr;
  if (columns.length > 0) return object(named(columns));
  return { kind: 'name', name: query.from[0]?.alias ?? '', at: 0 };
}

/** An aggregate of one partition, in the form in which the client combines those of several. */
function partial(expr: Expr): Expr {
  const type = aggregateOf(expr);
  if (type === undefined || expr.kind !== 'call') return expr;
  const call = (name: string): Expr => ({ ...expr, name });
  if (type === 'Average') {
    return object([['item', object([['sum', call('SUM')] as const, ['count', call('COUNT')] as const])]]);
  }
  if (type === 'Min' || type === 'Max') {
    return object([['item', object([[type.toLowerCase(), expr] as const, ['count', call('COUNT')] as const])]]);
  }
  return object([['item', expr]]);
}

function groupedParts(query: SelectQuery): Partial<QueryInfo> {
  const columns = columnsOf(query);
  if (columns.length === 0 || query.orderBy) {
    throw new SqlError(
      'SC2103',
      'GROUP BY needs named columns and no ORDER BY if the client combines the results of partitions.',
      0,
      0,
    );
  }
  const { top: _top, offset: _offset, limit: _limit, ...rest } = query;
  const key: SelectColumn[] = query.groupBy
    ? [
        {
          expr: { kind: 'array', items: query.groupBy.map((expr) => object([['item', expr]])) },
          alias: 'groupByItems',
        },
      ]
    : [];
  if (query.bare) {
    const [{ expr }] = columns as [SelectColumn];
    const type = aggregateOf(expr);
    const value: Expr = type === undefined ? expr : { kind: 'array', items: [partial(expr)] };
    const rewritten: SelectQuery = query.groupBy
      ? { ...rest, bare: false, columns: [...key, { expr: value, alias: 'payload' }] }
      : { ...rest, columns: [{ expr: value }] };
    return { aggregates: type === undefined ? [] : [type], rewrittenQuery: printQuery(rewritten) };
  }
  const members = named(columns);
  const values = object(members.map(([name, expr]) => [name, partial(expr)] as const));
  return {
    groupByAliases: members.map(([name]) => name),
    groupByAliasToAggregateType: Object.fromEntries(members.map(([name, expr]) => [name, aggregateOf(expr) ?? null])),
    rewrittenQuery: printQuery({ ...rest, columns: [...key, { expr: values, alias: 'payload' }] }),
  };
}
