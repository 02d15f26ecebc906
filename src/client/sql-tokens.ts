import { type Tokens, readTokens } from '../base/sql-tokens.ts';

/** Makes the error of a text that can't be read. */
export type Refuse = (query: string, why: string) => Error;

/** @throws what `refuse` makes of a text without a certain reading */
export function tokensOf(query: string, refuse: Refuse): Tokens {
  const read = readTokens(query);
  if ('why' in read) throw refuse(query, read.why);
  return read;
}
