// Reads from a query which fields it filters by, which of them it sets equal to a value, and its order.
import { type Token, readTokens } from '../../base/sql-tokens.ts';
import type { Query } from '../query.ts';

/** `text` is only the query. Undefined if it isn't a query, or has no certain reading. */
export function queryOf(text: string): Query | undefined {
  if (!/^\s*select\b/i.test(text)) return undefined;
  const read = readTokens(text);
  if ('why' in read) return undefined;
  const { tokens } = read;
  const sources = sourcesOf(between(tokens, ['FROM'], ['WHERE', 'GROUP', 'ORDER', 'OFFSET', 'LIMIT']));
  const where = between(tokens, ['WHERE'], ['GROUP', 'ORDER', 'OFFSET', 'LIMIT']);
  const order = between(tokens, ['ORDER'], ['OFFSET', 'LIMIT']);
  return {
    text,
    equal: equalities(where, sources),
    filters: [...new Set(pathsIn(where, sources))],
    order: split(order, (token) => token.text === ',').flatMap((part) =>
      pathsIn(part, sources)
        .slice(0, 1)
        .map((path) => ({ path, descending: part.some(({ word }) => word === 'DESC') })),
    ),
  };
}

/** By alias: the path of its documents' part. The alias of the container has the empty path. */
type Sources = ReadonlyMap<string, string>;

/** The tokens after the first of `from` outside brackets, up to the first of `to`. */
function between(tokens: readonly Token[], from: readonly string[], to: readonly string[]): Token[] {
  const start = tokens.findIndex(({ word, depth }) => depth === 0 && from.includes(word));
  if (start < 0) return [];
  const end = tokens.findIndex(({ word, depth }, at) => at > start && depth === 0 && to.includes(word));
  return tokens.slice(start + 1, end < 0 ? undefined : end);
}

/** `FROM c JOIN line IN c.lines`: c and line. Without FROM, every name may be the container's. */
function sourcesOf(tokens: readonly Token[]): Sources {
  const sources = new Map<string, string>();
  for (const part of split(tokens, ({ word, text }) => word === 'JOIN' || text === ',')) {
    const inside = part.findIndex(({ word }) => word === 'IN');
    const names = part.filter(({ kind, word }) => kind === 'name' && word !== 'AS' && word !== 'IN');
    if (inside < 0) for (const { text } of names) sources.set(text, '');
    else {
      const [path] = pathsIn(part.slice(inside + 1), sources);
      if (part[0] && path !== undefined) sources.set(part[0].text, path);
    }
  }
  return sources;
}

/**
 * Fields that are equal to a value, or one of a list, in every result: an equality in one branch of an OR doesn't hold
 * for the results of the others.
 */
function equalities(tokens: readonly Token[], sources: Sources): string[] {
  const branches = split(tokens, ({ word }) => word === 'OR');
  if (branches.length > 1) {
    const [first = [], ...others] = branches.map((branch) => equalities(branch, sources));
    return first.filter((path) => others.every((other) => other.includes(path)));
  }
  const terms = split(tokens, ({ word }) => word === 'AND');
  if (terms.length > 1) return [...new Set(terms.flatMap((term) => equalities(term, sources)))];
  const inner = unwrapped(tokens);
  if (inner) return equalities(inner, sources);
  const [first] = tokens;
  if (first === undefined || first.word === 'NOT') return [];
  const list = first.word === 'ARRAY_CONTAINS' && tokens.findIndex(({ text }) => text === ',');
  if (typeof list === 'number' && list > 0 && tokens[2]?.kind === 'parameter')
    return pathsIn(tokens.slice(list), sources).slice(0, 1);
  const at = tokens.findIndex(({ text, word, depth }) => depth === first.depth && (text === '=' || word === 'IN'));
  if (at < 0 || /[<>!]/.test(tokens[at - 1]?.text ?? '')) return [];
  const [left, right] = [tokens.slice(0, at), tokens.slice(at + 1)];
  if (left.at(-1)?.word === 'NOT') return [];
  for (const [path, value] of [
    [left, right],
    [right, left],
  ] as const) {
    const named = pathOf(path, sources);
    if (named !== undefined && pathsIn(value, sources).length === 0 && value[0]?.text !== '=') return [named];
  }
  return [];
}

/** The tokens between the brackets that enclose all others. */
function unwrapped(tokens: readonly Token[]): readonly Token[] | undefined {
  const [first] = tokens;
  if (first?.text !== '(') return undefined;
  const end = tokens.findIndex(({ text, depth }, at) => at > 0 && text === ')' && depth === first.depth);
  return end === tokens.length - 1 ? tokens.slice(1, -1) : undefined;
}

/** Splits where the brackets are as open as at the first token; the AND of a BETWEEN is no separator. */
function split(tokens: readonly Token[], separates: (token: Token) => boolean): Token[][] {
  const parts: Token[][] = [[]];
  let inRange = false;
  for (const token of tokens) {
    const outside = token.depth === tokens[0]?.depth;
    if (outside && token.word === 'BETWEEN') inRange = true;
    if (outside && separates(token) && !(inRange && token.word === 'AND')) parts.push([]);
    else parts.at(-1)?.push(token);
    if (outside && token.word === 'AND') inRange = false;
  }
  return parts.filter((part) => part.length > 0);
}

/** The path if the tokens are one, without anything else. */
function pathOf(tokens: readonly Token[], sources: Sources): string | undefined {
  const [path, ...others] = pathsAt(tokens, sources);
  return path && others.length === 0 && path.length === tokens.length ? path.path : undefined;
}

const pathsIn = (tokens: readonly Token[], sources: Sources): string[] =>
  pathsAt(tokens, sources).map(({ path }) => path);

/** Paths such as `c.address.city` and `c["address"]`, without their alias, each with its number of tokens. */
function pathsAt(tokens: readonly Token[], sources: Sources): { path: string; length: number }[] {
  const found: { path: string; length: number }[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    if (token?.kind !== 'name' || tokens[at - 1]?.text === '.') continue;
    const base = sources.size === 0 ? '' : sources.get(token.text);
    if (base === undefined) continue;
    const steps = base === '' ? [] : [base];
    let end = at + 1;
    for (; end < tokens.length;) {
      const [sign, name, close] = tokens.slice(end, end + 3);
      if (sign?.text === '.' && name?.kind === 'name') {
        steps.push(name.text);
        end += 2;
      } else if (sign?.text === '[' && (name?.kind === 'string' || name?.kind === 'number') && close?.text === ']') {
        steps.push(name.kind === 'string' ? name.text.slice(1, -1) : name.text);
        end += 3;
      } else break;
    }
    if (end > at + 1) found.push({ path: steps.join('.'), length: end - at });
    at = end - 1;
  }
  return found;
}
