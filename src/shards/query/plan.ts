// What a query over several shards asks each of them, and how their answers become one.
import type { SqlParameter, SqlQuerySpec } from '@azure/cosmos';
import { readQuery } from '../../client/query-text.ts';
import type { Token } from '../../base/sql-tokens.ts';
import type { Refuse } from '../../client/sql-tokens.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { calls, columnList, columnText } from './columns.ts';

/** Rows of single documents. In a query with an order a shard's row has the values to sort by. */
export interface QueryPlan {
  /** The name of the document in the query. */
  readonly alias: string;
  readonly parameters: readonly SqlParameter[];
  /** The query for one shard, with conditions on its documents. */
  readonly text: (conditions: readonly string[]) => string;
  /** Results to pass over, and the most to give. */
  readonly skip: number;
  readonly limit: number;
  /** For each term of ORDER BY, whether it is descending. */
  readonly order: readonly boolean[];
  /** A shard's row is `{ k, p }`; else the values of the order are beside its columns. */
  readonly wrapped: boolean;
}

/** The property of a shard's row with the values to sort by. */
export const ORDER_FIELD = 'millraceOrder';
const OWN_PARAMETER = '@millrace';

const refuse: Refuse = (query, why) =>
  sharedError('query-unsupported', `The query can't be merged over several shards, ${why}: ${query}`);

const AGGREGATES = ['COUNT', 'COUNTIF', 'SUM', 'AVG', 'MIN', 'MAX', 'MAKELIST', 'MAKESET'];

/** @throws UsageError `query-unsupported` */
export function shardPlanOf(spec: SqlQuerySpec): QueryPlan {
  const { query, parameters = [] } = spec;
  const read = readQuery(query, refuse);
  const { text, alias, clauses, condition, head } = read;
  const taken = parameters.find(({ name }) => name.toLowerCase().startsWith(OWN_PARAMETER));
  if (taken) throw refuse(query, `it has the parameter ${taken.name}, and ${OWN_PARAMETER}… are Millrace's own`);
  const select = selectOf(query, clauses.SELECT ?? []);
  const from = head.slice(clauses.FROM![0]!.start);
  const where = (conditions: readonly string[]): string => {
    const all = condition === '' ? conditions : [...conditions, `(${condition})`];
    return all.length > 0 ? ` WHERE ${all.join(' AND ')}` : '';
  };
  if (select.distinct || clauses.GROUP || calls(select.list, AGGREGATES))
    throw sharedError(
      'query-unsupported',
      `The query asks for DISTINCT, an aggregate or groups of several shards: ${query}`,
      {
        hint: 'Declare an aggregate projection and read its sink, or ask each shard by itself and add up.',
      },
    );
  const joins = (clauses.FROM ?? []).some(({ word, depth }) => word === 'JOIN' && depth === 0);
  if (joins && select.list[0]?.text === '*') throw refuse(query, 'SELECT * has no JOIN');
  const number = numberIn(query, parameters);
  const [skip, bound] = boundsOf(query, clauses.OFFSET, number);
  const asked = select.top && number(select.top);
  if (asked !== undefined && bound !== undefined) throw refuse(query, 'it has TOP and LIMIT');
  const limit = asked ?? bound ?? Infinity;
  const order = clauses.ORDER && columnList(afterBy(query, clauses.ORDER));
  const terms = (order ?? []).map((tokens) => termOf(query, text, tokens));
  const orderBy = order ? ` ORDER BY ${terms.map(({ all }) => all).join(', ')}` : '';
  const most = Number.isFinite(limit) ? skip + limit : undefined;
  const cut = most !== undefined && skip > 0 ? ` OFFSET 0 LIMIT ${most}` : '';
  const top = most !== undefined && cut === '' ? `TOP ${most} ` : '';
  const list = columnText(text, select.list);
  const keys = `[${terms.map(({ expression }) => `{"v": ${expression}}`).join(', ')}]`;
  const isStar = list === '*';
  const wrapped = order !== undefined && (isStar || select.bare);
  const payload = isStar ? alias : list;
  const columns = (): string => {
    if (wrapped) return `${top}VALUE {"k": ${keys}, "p": ${payload}}`;
    return `${top}${select.bare ? 'VALUE ' : ''}${list}${order ? `, ${keys} AS ${ORDER_FIELD}` : ''}`;
  };
  // An undefined result isn't a row, and doesn't count in TOP.
  const defined = wrapped && !isStar ? [`IS_DEFINED(${payload})`] : [];
  return {
    alias,
    parameters,
    skip,
    limit,
    order: terms.map(({ descending }) => descending),
    wrapped,
    text: (conditions) => `SELECT ${columns()} FROM ${from}${where([...conditions, ...defined])}${orderBy}${cut}`,
  };
}

interface Select {
  readonly distinct: boolean;
  readonly top: Token | undefined;
  readonly bare: boolean;
  readonly list: readonly Token[];
}

function selectOf(query: string, tokens: readonly Token[]): Select {
  let list = tokens;
  const eat = (word: string): boolean => {
    if (list[0]?.word !== word) return false;
    list = list.slice(1);
    return true;
  };
  const distinct = eat('DISTINCT');
  const top = eat('TOP') ? list[0] : undefined;
  if (top) list = list.slice(1);
  const bare = eat('VALUE');
  if (list.length === 0) throw refuse(query, 'its SELECT has no columns');
  return { distinct, top, bare, list };
}

function afterBy(query: string, [by, ...tokens]: readonly Token[]): Token[] {
  if (by?.word !== 'BY' || tokens.length === 0) throw refuse(query, 'it has GROUP or ORDER without BY');
  return tokens;
}

function termOf(query: string, text: string, tokens: readonly Token[]) {
  const last = tokens.at(-1)?.word;
  const expression = last === 'ASC' || last === 'DESC' ? tokens.slice(0, -1) : tokens;
  if (expression.length === 0) throw refuse(query, 'its ORDER BY lacks an expression');
  if (expression[0]?.word === 'RANK' || calls(expression, ['VECTORDISTANCE', 'RRF']))
    throw refuse(query, 'its order is a rank that each shard would count for itself');
  return { all: columnText(text, tokens), expression: columnText(text, expression), descending: last === 'DESC' };
}

function boundsOf(
  query: string,
  tokens: readonly Token[] | undefined,
  number: (token: Token | undefined) => number,
): [offset: number, limit: number | undefined] {
  if (!tokens) return [0, undefined];
  const [offset, word, limit, ...more] = tokens;
  if (word?.word !== 'LIMIT' || more.length > 0) throw refuse(query, 'its OFFSET is not followed by one LIMIT');
  return [number(offset), number(limit)];
}

/** Reads a bound of TOP, OFFSET or LIMIT: a whole number, or a parameter with one. */
const numberIn =
  (query: string, parameters: readonly SqlParameter[]) =>
  (token: Token | undefined): number => {
    const value =
      token?.kind === 'parameter' ? parameters.find(({ name }) => name === token.text)?.value : Number(token?.text);
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
    throw refuse(query, 'TOP, OFFSET and LIMIT take a whole number that is not negative');
  };
