import type { KeyPath } from '../cosmos/paths.ts';
import { sharedError } from '../base/shared-errors.ts';
import { type Refuse, tokensOf } from './sql-tokens.ts';
import type { Token } from '../base/sql-tokens.ts';

/** One query, cut where a condition can be added. */
export interface QueryText {
  /** Without comments. */
  readonly text: string;
  /** The tokens of each clause, without the keyword that begins it. */
  readonly clauses: Readonly<Partial<Record<Clause, readonly Token[]>>>;
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

const CLAUSES = ['SELECT', 'FROM', 'WHERE', 'GROUP', 'ORDER', 'OFFSET'] as const;
export type Clause = (typeof CLAUSES)[number];

/** @throws UsageError `query-unsupported`, or what `refuse` makes of it */
export function readQuery(query: string, refuse: Refuse = unreadable): QueryText {
  const { text, tokens } = tokensOf(query, refuse);
  const clauses = clausesOf(query, tokens, refuse);
  const { SELECT: select = [], FROM: from = [], WHERE: where } = clauses;
  const joins = from.findIndex(({ word, depth }) => word === 'JOIN' && depth === 0);
  const alias = aliasOf(query, joins < 0 ? from : from.slice(0, joins), refuse);
  if (joins >= 0) refuseSecond(query, alias, from.slice(joins), refuse);
  if (where?.length === 0) throw refuse(query, 'its WHERE has no condition');
  const last = from.at(-1)!.end;
  const after = where?.at(-1)?.end ?? last;
  return {
    text,
    clauses,
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

function clausesOf(query: string, tokens: readonly Token[], refuse: Refuse): QueryText['clauses'] {
  const found: { clause: Clause; at: number }[] = [];
  for (const [at, { word, depth }] of tokens.entries()) {
    const clause = CLAUSES.find((each) => each === word);
    if (depth > 0 || !clause) continue;
    const before = found.at(-1);
    if (before && CLAUSES.indexOf(clause) <= CLAUSES.indexOf(before.clause))
      throw refuse(query, `${word} is in an unexpected place`);
    found.push({ clause, at });
  }
  if (found[0]?.at !== 0 || found[0].clause !== 'SELECT') throw refuse(query, 'it does not begin with SELECT');
  if (!found.some(({ clause }) => clause === 'FROM')) throw refuse(query, 'it has no FROM');
  return Object.fromEntries(found.map(({ clause, at }, index) => [clause, tokens.slice(at + 1, found[index + 1]?.at)]));
}

/** `c`, `root c` or `root AS c`. A query of a part of the documents has no name for the document itself. */
function aliasOf(query: string, source: readonly Token[], refuse: Refuse): string {
  const [first, ...more] = source.filter(({ word }, at) => !(word === 'AS' && at === 1));
  const names = [first, ...more];
  if (names.some((token) => token?.kind !== 'name') || names.length > 2 || names.some((token) => token?.word === 'IN'))
    throw refuse(query, 'its FROM does not begin with the whole document');
  return names.at(-1)!.text;
}

/** A second thing of the same name would take the place of the document in the conditions. */
function refuseSecond(query: string, alias: string, joins: readonly Token[], refuse: Refuse): void {
  for (const [at, token] of joins.entries()) {
    const next = joins[at + 1]?.text;
    if (token.kind === 'name' && token.depth === 0 && token.text === alias && next !== '.' && next !== '[')
      throw refuse(query, `it has two things with the name ${alias}`);
  }
}

function isWhole(select: readonly Token[], alias: string): boolean {
  const words = select.map(({ text, word }) => (['DISTINCT', 'TOP', 'VALUE'].includes(word) ? word : text));
  if (words[0] === 'DISTINCT') words.shift();
  if (words[0] === 'TOP') words.splice(0, 2);
  return words.join(' ') === '*' || words.join(' ') === `VALUE ${alias}`;
}

const unreadable: Refuse = (query, why) =>
  sharedError('query-unsupported', `The query can't be bound to a tenant, ${why}: ${query}`, {
    hint: 'Write one `SELECT` whose `FROM` begins with the whole document, such as `FROM c`, and read its lists by `JOIN`.',
  });
