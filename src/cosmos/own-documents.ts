// Documents that Millrace stores for itself beside those of applications: contributions, tombstones,
// placeholders, locators, fences. No reader of applications returns one.
import { isObject } from '../base/json.ts';

/** Prefix of their types, which are never a source. */
export const OWN_TYPE = 'millrace.';

export function isOwn(stored: object): boolean {
  const { type } = stored as { readonly type?: unknown };
  return typeof type === 'string' && type.startsWith(OWN_TYPE);
}

/** A missing field is undefined, and so would be its negation: hence the check of the type. */
export const notOwn = (alias: string): string =>
  `NOT (IS_STRING(${alias}["type"]) AND STARTSWITH(${alias}["type"], "${OWN_TYPE}"))`;

/** Also an aggregate whose group has no rows any more. */
export function isHidden(stored: object): boolean {
  const { _mr: own } = stored as { readonly _mr?: unknown };
  return isOwn(stored) || (isObject(own) && own['rows'] === 0);
}

/** The same as conditions of a query. */
export function hiding(alias: string): string[] {
  const rows = `${alias}["_mr"]["rows"]`;
  return [notOwn(alias), `NOT (IS_NUMBER(${rows}) AND ${rows} = 0)`];
}
