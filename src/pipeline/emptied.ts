import { isObject } from '../base/json.ts';

/**
 * Whether a stored document is an aggregate whose group has no rows any more. If other projections read it, it stays for
 * a while, because the latest-version feed shows no deletes (AGG-G11). Every reader must treat it as deleted.
 */
export const isEmptied = (stored: Readonly<Record<string, unknown>>): boolean => {
  const own = stored['_mr'];
  return isObject(own) && own['rows'] === 0;
};
