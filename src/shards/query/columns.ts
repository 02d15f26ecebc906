// The columns of a query over several shards: which are aggregates, and what their names are.
import type { Token } from '../../base/sql-tokens.ts';
import type { Refuse } from '../../client/sql-tokens.ts';

export const AGGREGATES = ['COUNT', 'COUNTIF', 'SUM', 'AVG', 'MIN', 'MAX'] as const;
export type Aggregate = (typeof AGGREGATES)[number];
/** Their results depend on the order of documents, or can't be made of the shards' results. */
const OTHERS = ['MAKELIST', 'MAKESET'];

export interface Column {
  readonly tokens: readonly Token[];
  /** The expression, without its name. */
  readonly text: string;
  /** Its name in the result; absent: it has none, and the service numbers it. */
  readonly name?: string;
  readonly aggregate?: { readonly kind: Aggregate; readonly argument: string };
}

/** Cuts a list at its commas. */
export function listOf(tokens: readonly Token[]): Token[][] {
  const parts: Token[][] = [[]];
  for (const token of tokens)
    if (token.depth === 0 && token.text === ',') parts.push([]);
    else parts.at(-1)!.push(token);
  return parts;
}

export const textOf = (text: string, tokens: readonly Token[]): string =>
  tokens.length === 0 ? '' : text.slice(tokens[0]!.start, tokens.at(-1)!.end);

/** One text for the forms `c.a`, `c["a"]` and `c['a']` of a path. */
export const normal = (tokens: readonly Token[]): string =>
  tokens
    .flatMap(({ kind, text }, at) => {
      if (kind === 'sign' && text === '.') return [];
      if (kind === 'name' && tokens[at - 1]?.text === '.') return ['[', `"${text}"`, ']'];
      return [kind === 'string' && !/["\\]/.test(text.slice(1, -1)) ? `"${text.slice(1, -1)}"` : text];
    })
    .join(' ');

/** @throws what `refuse` makes of a column with an aggregate inside of an expression */
export function columnOf(query: string, text: string, tokens: readonly Token[], refuse: Refuse): Column {
  const [expression, alias] = named(tokens);
  const name = alias ?? lastName(expression);
  const column = { tokens: expression, text: textOf(text, expression), ...(name !== undefined && { name }) };
  const [first, open] = expression;
  if (!calls(expression, [...AGGREGATES, ...OTHERS])) return column;
  const inner = expression.slice(2, -1);
  const isOne = open?.text === '(' && expression.at(-1)?.text === ')' && inner.every(({ depth }) => depth > 0);
  const kind = AGGREGATES.find((each) => each === first?.word);
  if (!kind || !isOne || inner.length === 0)
    throw refuse(
      query,
      `${column.text} has an aggregate that can't be merged: ${AGGREGATES.join(', ')} can, as whole columns`,
    );
  return { ...column, aggregate: { kind, argument: textOf(text, inner) } };
}

/** Whether one of the functions is called outside of subqueries. */
export function calls(tokens: readonly Token[], functions: readonly string[]): boolean {
  let subquery = Infinity;
  for (const [at, { word, depth, text }] of tokens.entries()) {
    if (depth < subquery) subquery = Infinity;
    if (text === '(' && tokens[at + 1]?.word === 'SELECT') subquery = Math.min(subquery, depth + 1);
    if (depth < subquery && functions.includes(word) && tokens[at + 1]?.text === '(') return true;
  }
  return false;
}

const OPERATORS = ['NOT', 'AND', 'OR', 'IN', 'LIKE', 'BETWEEN', 'ESCAPE'];

/** An expression and its name, with or without `AS`. */
function named(tokens: readonly Token[]): [expression: readonly Token[], alias: string | undefined] {
  const [before, last] = tokens.slice(-2);
  if (before?.word === 'AS' && last) return [tokens.slice(0, -2), last.text];
  const ends = before && (before.kind !== 'sign' || [')', ']', '}'].includes(before.text));
  const isAlias = last?.kind === 'name' && last.word !== '' && ends && ![before.word, last.word].some(isOperator);
  return isAlias ? [tokens.slice(0, -1), last.text] : [tokens, undefined];
}

const isOperator = (word: string): boolean => OPERATORS.includes(word);

function lastName(tokens: readonly Token[]): string | undefined {
  const [open, step, close] = tokens.slice(-3);
  const last = tokens.at(-1);
  if (last?.kind === 'name' && (tokens.length === 1 || tokens.at(-2)?.text === '.')) return last.text;
  const isStep = tokens.length > 3 && open?.text === '[' && step?.kind === 'string' && close?.text === ']';
  return isStep ? step.text.slice(1, -1) : undefined;
}
