// Whether a query's own text names the tenant.
import type { SqlQuerySpec } from '@azure/cosmos';
import type { KeyPath } from '../cosmos/paths.ts';
import { readQuery } from './query-text.ts';
import type { Token } from '../base/sql-tokens.ts';

/**
 * True: every result of the query has one value, a text or a number, at the path. Only an equality counts that stands
 * alone in `WHERE` or is joined to the rest by `AND`. What can't be read counts as false.
 */
export function namesOne({ query, parameters = [] }: SqlQuerySpec, path: KeyPath): boolean {
  let text;
  try {
    text = readQuery(query);
  } catch {
    return false;
  }
  const known = (token: Token | undefined): boolean => {
    if (token?.kind === 'string' || token?.kind === 'number') return true;
    const value = token?.kind === 'parameter' && parameters.find(({ name }) => name === token.text)?.value;
    return typeof value === 'string' || typeof value === 'number';
  };
  const isField = (tokens: readonly Token[]): boolean => JSON.stringify(stepsOf(tokens)) === named;
  const named = JSON.stringify([text.alias, ...path]);
  const isEquality = (tokens: readonly Token[]): boolean =>
    (tokens.at(-2)?.text === '=' && known(tokens.at(-1)) && isField(tokens.slice(0, -2))) ||
    (tokens[1]?.text === '=' && known(tokens[0]) && isField(tokens.slice(2)));
  return conjuncts(text.where ?? []).some(isEquality);
}

/** The parts of a condition that must all hold; none if there is an alternative. */
function conjuncts(tokens: readonly Token[]): (readonly Token[])[] {
  const inside = unwrapped(tokens);
  if (inside !== tokens) return conjuncts(inside);
  const outer = tokens[0]?.depth;
  const words = tokens.map(({ word, text, depth }) => (depth === outer ? word || text : ''));
  if (words.includes('OR') || words.includes('?')) return [];
  const parts: Token[][] = [[]];
  let between = false;
  for (const [at, token] of tokens.entries()) {
    if (words[at] === 'BETWEEN') between = true;
    if (words[at] !== 'AND' || between) parts.at(-1)!.push(token);
    else parts.push([]);
    if (words[at] === 'AND') between = false;
  }
  return parts.length === 1 ? parts : parts.flatMap(conjuncts);
}

/** Without brackets around the whole. */
function unwrapped(tokens: readonly Token[]): readonly Token[] {
  const [first] = tokens;
  if (first?.text !== '(') return tokens;
  const closing = tokens.findIndex(({ text, depth }) => text === ')' && depth === first.depth);
  return closing === tokens.length - 1 ? tokens.slice(1, -1) : tokens;
}

/** `c.a["b"]` → ['c', 'a', 'b']; undefined if it is anything else. */
function stepsOf(tokens: readonly Token[]): string[] | undefined {
  const [alias, ...rest] = tokens;
  if (alias?.kind !== 'name') return undefined;
  const steps = [alias.text];
  while (rest.length > 0) {
    const [sign, name] = rest.splice(0, 2);
    if (sign?.text === '.' && name?.kind === 'name') steps.push(name.text);
    else if (sign?.text === '[' && name?.kind === 'string' && rest.shift()?.text === ']')
      steps.push(unquoted(name.text));
    else return undefined;
  }
  return steps;
}

/** A name with an escape in it is not compared: it counts as another one. */
const unquoted = (text: string): string => (text.includes('\\') ? text : text.slice(1, -1));
