// Fields that are no change: what others write into a source's documents, such as vectors.
import { isObject } from '../../base/json.ts';
import { error, ref } from '../declaration.ts';
import type { Doc, Finding, SourceRules } from '../specs.ts';

/** The names of a path; `*` is every field of an object, or every element of a list. */
const namesOf = (path: string): string[] =>
  path
    .slice(1)
    .split('/')
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));

/** A document without the fields at these paths, and without objects that have no other field. */
export const withoutPaths = (doc: Doc, paths: readonly string[]): Doc =>
  paths.reduce((left, path) => withoutPath(left, namesOf(path)), doc);

/** The same for one path, as its names. */
export const withoutPath = (doc: Doc, names: readonly string[]): Doc => (without(doc, names) as Doc | undefined) ?? {};

/** Undefined: nothing of it is left. */
function without(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return undefined;
  if (Array.isArray(value)) {
    if (name !== '*') return value;
    // Elements keep their places.
    return rest.length === 0 ? undefined : value.map((item: unknown) => without(item, rest) ?? {});
  }
  if (!isObject(value) || (name !== '*' && !Object.hasOwn(value, name))) return value;
  const left = Object.entries(value).flatMap(([field, inner]) => {
    const kept = name === '*' || name === field ? without(inner, rest) : inner;
    return kept === undefined ? [] : [[field, kept] as const];
  });
  return left.length === 0 ? undefined : Object.fromEntries(left);
}

const NEVER = new Set(['id', 'type', '*', '_mr']);

/** What is wrong with the `ignore` of a `source()`. */
export function ignoreFindings(rules: SourceRules): Finding[] {
  const { ignore } = rules as { readonly ignore?: unknown };
  if (ignore === undefined) return [];
  const hint = "Write paths such as '/embedding' or '/enriched/*', where * is a whole name.";
  const what = `source() of ${ref(rules)}`;
  if (!Array.isArray(ignore)) return [error('source-ignore', `ignore in ${what} is not a list of paths`, hint)];
  return ignore.flatMap((path: unknown) => {
    const names = typeof path === 'string' && path.startsWith('/') ? namesOf(path) : [];
    const isPath = names.length > 0 && names.every((name) => name !== '' && (name === '*' || !name.includes('*')));
    if (!isPath)
      return [error('source-ignore', `ignore in ${what} has ${JSON.stringify(path)}, which is no path`, hint)];
    const field = names[0] ?? '';
    if (!NEVER.has(field) && rules.discriminator !== field) return [];
    return [error('source-ignore', `ignore in ${what} has ${String(path)}, which tells documents apart`, hint)];
  });
}
