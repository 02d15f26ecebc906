// Lists and calls in the text of a query over several shards.
import type { Token } from '../../base/sql-tokens.ts';

/** Cuts a list at its commas. */
export function columnList(tokens: readonly Token[]): Token[][] {
  const parts: Token[][] = [[]];
  for (const token of tokens)
    if (token.depth === 0 && token.text === ',') parts.push([]);
    else parts.at(-1)!.push(token);
  return parts;
}

export const columnText = (text: string, tokens: readonly Token[]): string =>
  tokens.length === 0 ? '' : text.slice(tokens[0]!.start, tokens.at(-1)!.end);

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
