import { type Tokens, readTokens } from '../base/sql-tokens.ts';
import { clientError } from './errors.ts';

/** @throws UsageError `tenant-query-unreadable` */
export function tokensOf(query: string): Tokens {
  const read = readTokens(query);
  if ('why' in read) throw unreadable(query, read.why);
  return read;
}

export const unreadable = (query: string, why: string): Error =>
  clientError('tenant-query-unreadable', `The query can't be bound to a tenant, ${why}: ${query}`);
