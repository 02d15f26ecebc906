import { holdsAggregate } from './aggregate.ts';
import type { Expr, SelectQuery } from './ast.ts';
import { type Counting, countingOf } from './counting.ts';
import { QueryMeter, ROW_STEPS } from './meter.ts';
import { parseQuery } from './parse.ts';
import { Patterns } from './regex.ts';
import { pathOf, restrictionsOf } from './restrictions.ts';
import type { Restriction } from './restrictions.ts';
import type { Readable, QueryRow, Scope } from './scope.ts';
import { select } from './select.ts';
import { SqlError } from './tokens.ts';
import type { Walk } from './walk.ts';

export interface Prepared {
  readonly restrictions: readonly Restriction[];
  /** The ORDER BY items; the path is absent if the expression is not a path of the document. */
  readonly orderBy: readonly { readonly path: string[] | undefined; readonly descending: boolean }[];
  /** Whether results come while documents are read, so that their number isn't known before. */
  readonly streams: boolean;
  /** Whether results come in the order of the documents, so that reading can begin in the middle. */
  readonly seeks: boolean;
  /** Whether it counts: COUNT may include expired items. */
  readonly counts: boolean;
  /** Set if it does nothing but count documents. */
  readonly counting: Counting | undefined;
  /** About how many bytes it keeps until its end. */
  readonly kept: number;
  /** The results as JSON text, made one by one. Documents are read one by one too, unless the query sorts or groups. */
  run(documents: Iterable<Readable>, walk?: Walk): Generator<string, void>;
}

const MAX_CACHED = 500;
/** Longer queries are rarely repeated, so they are not cached. */
const MAX_CACHED_LENGTH = 2000;
/** "Azure Cosmos DB service quotas". */
const MAX_LENGTH = 512 * 1024;
const cache = new Map<string, SelectQuery>();

function parsed(text: string): SelectQuery {
  if (text.length > MAX_LENGTH) {
    throw new SqlError('SC2023', 'The query is longer than 512 KB.', MAX_LENGTH, text.length);
  }
  let query = cache.get(text);
  if (!query) {
    query = parseQuery(text);
    if (text.length > MAX_CACHED_LENGTH) return query;
    if (cache.size >= MAX_CACHED) cache.clear();
    cache.set(text, query);
  }
  return query;
}

/**
 * Parses and compiles; throws SqlError.
 * @param now the server's time, in milliseconds since 1970
 */
export function prepareQuery(
  text: string,
  params: ReadonlyMap<string, unknown>,
  now: () => number = Date.now,
): Prepared {
  const query = parsed(text);
  const whole = isWhole(query);
  const alias = rootAlias(query);
  const meter = new QueryMeter();
  const tools = { meter, patterns: new Patterns(meter), now, began: now() };
  const scope: Scope = { slots: new Map(), params, counter: { next: 2 }, tools, select };
  let documents: Iterable<Readable> = [];
  function* rows(): Generator<QueryRow, void> {
    for (const document of documents) {
      meter.work(ROW_STEPS);
      yield [document.doc, document];
    }
  }
  // A query that wants whole documents selects what they were read from (slot 1) instead.
  const run = select(whole ? { ...query, bare: true, columns: [{ expr: READ_FROM }] } : query, wholeScope(scope), rows);
  return {
    restrictions: alias === undefined || !query.where ? [] : restrictionsOf(query.where, alias, params),
    orderBy: (query.orderBy ?? []).map(({ expr, descending }) => ({
      path: pathOf(expr, alias ?? ''),
      descending,
    })),
    counts: holdsCount(query),
    counting: countingOf(query, scope),
    seeks: seeking(query),
    get kept() {
      return meter.kept;
    },
    streams: seeking(query) && !query.top && !query.offset,
    *run(given, walk) {
      documents = given;
      for (const value of run([], walk)) {
        if (!whole) meter.make(meter.sizeOf(value));
        yield whole ? (value as Readable).text : JSON.stringify(value);
        meter.row();
      }
    },
  };
}

const READ_FROM: Expr = { kind: 'name', name: '$read', at: 0 };
const wholeScope = (scope: Scope): Scope => ({ ...scope, slots: new Map([['$read', 1]]) });

/** The name of the document in the query's WHERE, if its one source is the container itself. */
function rootAlias({ from }: SelectQuery): string | undefined {
  const [source] = from;
  return source && !source.each && source.of.kind === 'name' ? source.alias : undefined;
}

function isWhole(query: SelectQuery): boolean {
  const alias = rootAlias(query);
  if (alias === undefined || query.distinct || query.groupBy) return false;
  if (query.columns === '*') return query.from.length === 1;
  const [only] = query.columns;
  return query.bare && only?.expr.kind === 'name' && only.expr.name === alias;
}

const seeking = ({ columns, groupBy, orderBy, distinct }: SelectQuery): boolean =>
  !groupBy && !orderBy && !distinct && (columns === '*' || !columns.some(({ expr }) => holdsAggregate(expr)));

const holdsCount = ({ columns }: SelectQuery): boolean =>
  columns !== '*' && columns.some(({ expr }) => expr.kind === 'call' && expr.name === 'COUNT');
