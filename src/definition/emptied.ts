import { isObject } from '../base/json.ts';

/**
 * Whether a stored document is an aggregate whose group has no rows any more. It stays a while where others derive from
 * it, for the latest-version feed shows no deletes (R5); to everybody it counts as deleted.
 */
export const isEmptied = (stored: Readonly<Record<string, unknown>>): boolean => {
  const own = stored['_mr'];
  return isObject(own) && own['rows'] === 0;
};
