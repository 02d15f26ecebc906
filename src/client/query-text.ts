import type { KeyPath } from '../cosmos/paths.ts';
import type { Token } from '../base/sql-tokens.ts';
import { tokensOf, unreadable } from './sql-tokens.ts';

/** One query, cut where a condition can be added. */
export interface QueryText {
  /** `SELECT … FROM …`. */
  readonly head: string;
  /** The tokens between `WHERE` and the next clause; absent without a `WHERE`. */
  readonly where: readonly Token[] | undefined;
  /** The text of `where`. */
  readonly condition: string;
  /** `GROUP BY …`, `ORDER BY …`, `OFFSET … LIMIT …`. */
  readonly tail: string;
  /** The name of the document in the query. */
  readonly alias: string;
  /** True: every result is a whole document. */
  readonly whole: boolean;
}

const CLAUSES = ['SELECT', 'FROM', 'WHERE', 'GROUP', 'ORDER', 'OFFSET'];

/** @throws UsageError `tenant-query-unreadable` */
export function readQuery(query: string): QueryText {
  const { text, tokens } = tokensOf(query);
  const starts = clauses(query, tokens);
  const section = (clause: string): readonly Token[] | undefined => {
    const start = starts.get(clause);
    if (start === undefined) return undefined;
    const later = [...starts.values()].filter((each) => each > start);
    return tokens.slice(start + 1, later.length > 0 ? Math.min(...later) : tokens.length);
  };
  const [select, from, where] = [section('SELECT') ?? [], section('FROM') ?? [], section('WHERE')];
  const joins = from.findIndex(({ word, depth }) => word === 'JOIN' && depth === 0);
  const alias = aliasOf(query, joins < 0 ? from : from.slice(0, joins));
  if (joins >= 0) refuseSecond(query, alias, from.slice(joins));
  if (where?.length === 0) throw unreadable(query, 'its WHERE has no condition');
  const last = from.at(-1)!.end;
  const after = where?.at(-1)?.end ?? last;
  return {
    head: text.slice(0, last),
    where,
    condition: where ? text.slice(where[0]!.start, after) : '',
    tail: text.slice(after),
    alias,
    whole: joins < 0 && isWhole(select, alias),
  };
}

/** The query with further conditions, all of which a result must fulfil. */
export function withConditions(query: QueryText, conditions: readonly string[]): string {
  const all = query.where ? [...conditions, `(${query.condition})`] : conditions;
  return `${query.head} WHERE ${all.join(' AND ')}${query.tail}`;
}

/** `c["address"]["city"]`. */
export const property = (alias: string, path: KeyPath): string =>
  `${alias}${path.map((name) => `[${JSON.stringify(name)}]`).join('')}`;

/** Where each clause of the outer query begins. */
function clauses(query: string, tokens: readonly Token[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  let rank = -1;
  for (const [at, { word, depth }] of tokens.entries()) {
    const next = CLAUSES.indexOf(word);
    if (depth > 0 || next < 0) continue;
    if (next <= rank) throw unreadable(query, `${word} is in an unexpected place`);
    rank = next;
    found.set(word, at);
  }
  if (found.get('SELECT') !== 0) throw unreadable(query, 'it does not begin with SELECT');
  if (!found.has('FROM')) throw unreadable(query, 'it has no FROM');
  return found;
}

/** `c`, `root c` or `root AS c`. A query of a part of the documents has no name for the document itself. */
function aliasOf(query: string, source: readonly Token[]): string {
  const [first, ...more] = source.filter(({ word }, at) => !(word === 'AS' && at === 1));
  const names = [first, ...more];
  if (names.some((token) => token?.kind !== 'name') || names.length > 2 || names.some((token) => token?.word === 'IN'))
    throw unreadable(query, 'its FROM does not begin with the whole document');
  return names.at(-1)!.text;
}

/** A second thing of the same name would take the place of the document in the conditions. */
function refuseSecond(query: string, alias: string, joins: readonly Token[]): void {
  for (const [at, token] of joins.entries()) {
    const next = joins[at + 1]?.text;
    if (token.kind === 'name' && token.depth === 0 && token.text === alias && next !== '.' && next !== '[')
      throw unreadable(query, `it has two things with the name ${alias}`);
  }
}

function isWhole(select: readonly Token[], alias: string): boolean {
  const words = select.map(({ text, word }) => (['DISTINCT', 'TOP', 'VALUE'].includes(word) ? word : text));
  if (words[0] === 'DISTINCT') words.shift();
  if (words[0] === 'TOP') words.splice(0, 2);
  return words.join(' ') === '*' || words.join(' ') === `VALUE ${alias}`;
}
