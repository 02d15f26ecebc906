import { type Expr, type SelectQuery, queryPartsOf } from './ast.ts';
import { compile, projection } from './compile.ts';
import type { Readable, Scope } from './scope.ts';

/** What a query needs that only counts documents: its result follows from their number. */
export interface Counting {
  /** Whether a document counts. For one version of a document the answer is always the same. */
  readonly holds: (document: Readable) => boolean;
  /** The result for so many, as JSON text. */
  readonly result: (count: number) => string;
}

/** Functions that cost little, whatever the document, and whose value for it never changes. */
const PLAIN = /^(IS_[A-Z_]+|STARTSWITH|ARRAY_CONTAINS)$/;

/** Undefined: the query does more than count the documents of one source. */
export function countingOf(query: SelectQuery, scope: Scope): Counting | undefined {
  const { columns, from, where, distinct, top, groupBy, orderBy, offset, limit } = query;
  const [source, ...more] = from;
  if (columns === '*' || !source || more.length > 0 || source.each || source.of.kind !== 'name') return undefined;
  if (distinct || top || groupBy || orderBy || offset || limit) return undefined;
  const counts = columns.map(({ expr }) => countsOf(expr));
  if (counts.includes(undefined) || !counts.some((count) => count! > 0) || (where && !isPlain(where))) return undefined;
  const slots = new Map([[source.alias, 0]]);
  const holds = where && compile(where, { ...scope, slots });
  const aggregating: Scope = { ...scope, slots, aggregates: [] };
  const project = projection(query, aggregating);
  const { meter } = scope.tools;
  return {
    holds: (document) => {
      // It is asked for as long as the count is kept, and each time is a query of its own.
      meter.restart();
      return !holds || holds([document.doc, document]) === true;
    },
    result: (count) => {
      const row: unknown[] = [];
      for (const { slot } of aggregating.aggregates!) row[slot] = count;
      return JSON.stringify(project(row));
    },
  };
}

/** How many aggregates an expression has; undefined: it has something else than COUNT of a constant in it. */
function countsOf(expr: Expr): number | undefined {
  if (expr.kind === 'constant') return 0;
  if (expr.kind === 'call') {
    const [only] = expr.args;
    return expr.name === 'COUNT' && only?.kind === 'constant' && only.value !== undefined ? 1 : undefined;
  }
  if (expr.kind !== 'array' && expr.kind !== 'object') return undefined;
  return queryPartsOf(expr).reduce<number | undefined>((sum, part) => {
    const count = countsOf(part);
    return sum === undefined || count === undefined ? undefined : sum + count;
  }, 0);
}

const isPlain = (expr: Expr): boolean =>
  expr.kind !== 'query' &&
  expr.kind !== 'like' &&
  !(expr.kind === 'call' && !PLAIN.test(expr.name)) &&
  queryPartsOf(expr).every(isPlain);
