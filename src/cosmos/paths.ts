import { isObject } from '../base/json.ts';
import { type KeyLevel, isKeyValue, levelOf } from '../base/key-level.ts';

/** A partition key path split into names: `/address/city` → ['address', 'city']. */
export type KeyPath = readonly string[];

export const splitPath = (path: string): KeyPath =>
  path
    .split('/')
    .slice(1)
    .map((name) => name.replace(/^"(.*)"$/, '$1'));

/** The value at a path; undefined if any step is missing. */
export function valueAtPath(document: unknown, path: KeyPath): unknown {
  let value = document;
  for (const name of path) {
    if (!isObject(value)) return undefined;
    value = value[name];
  }
  return value;
}

/** The partition key of a stored document, which may lack levels. */
export const storedKey = (document: unknown, paths: readonly KeyPath[]): KeyLevel[] =>
  paths.map((path) => levelOf(valueAtPath(document, path)));

/**
 * The partition key of a document that has every level. `missing`: the key path whose value is missing, or is not a string,
 * number, boolean or null.
 */
export function fullKey(
  document: unknown,
  paths: readonly KeyPath[],
): { key: (string | number | boolean | null)[] } | { missing: string } {
  const key: (string | number | boolean | null)[] = [];
  for (const path of paths) {
    const value = valueAtPath(document, path);
    if (!isKeyValue(value)) return { missing: `/${path.join('/')}` };
    key.push(value);
  }
  return { key };
}
