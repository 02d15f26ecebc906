import { pathSteps } from './keys.ts';
import { badRequest } from '../wire/wire.ts';
import type { WireDoc } from '../wire/wire.ts';

const ROOT = '/*';
const ETAG = '/"_etag"/?';
const MODES = ['consistent', 'lazy', 'none'];

interface Path extends WireDoc {
  readonly path: string;
}

/** One item of an ORDER BY clause. */
export interface SortKey {
  /** Absent if the expression is not a path of the document. */
  readonly path: readonly string[] | undefined;
  readonly descending: boolean;
}

/** An indexing policy with the service's defaults filled in; refuses what the service refuses. */
export function indexingPolicy(value: unknown): WireDoc {
  const given = (value ?? {}) as WireDoc;
  const indexingMode = typeof given.indexingMode === 'string' ? given.indexingMode.toLowerCase() : 'consistent';
  if (typeof given !== 'object' || !MODES.includes(indexingMode)) {
    throw badRequest(
      `The indexing mode ${JSON.stringify(given.indexingMode)} is invalid: it must be one of ${MODES.join(', ')}.`,
    );
  }
  const automatic = given.automatic ?? indexingMode !== 'none';
  if (indexingMode === 'none') {
    if (automatic === true) throw badRequest("Automatic indexing can't be true where the indexing mode is 'none'.");
    return { ...given, indexingMode, automatic, includedPaths: [], excludedPaths: [] };
  }
  const excludedPaths = pathsOf(given.excludedPaths, 'excludedPaths');
  const includedPaths = pathsOf(given.includedPaths, 'includedPaths');
  const has = (paths: readonly Path[], path: string): boolean => paths.some((each) => each.path === path);
  if (!has(includedPaths, ROOT) && !has(excludedPaths, ROOT)) {
    if (includedPaths.length > 0) {
      throw badRequest(
        'The special mandatory indexing path "/" is not provided in any of the path type sets. Please provide this path in one of the sets.',
      );
    }
    includedPaths.push({ path: ROOT });
  }
  for (const { path } of includedPaths) {
    if (has(excludedPaths, path)) throw badRequest(`The path '${path}' is both included and excluded.`);
  }
  if (!has(excludedPaths, ROOT) && !has(excludedPaths, ETAG)) excludedPaths.push({ path: ETAG });
  checkComposites(given.compositeIndexes);
  return { ...given, indexingMode, automatic, includedPaths, excludedPaths };
}

function pathsOf(value: unknown, name: string): Path[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw badRequest(`The indexing policy's '${name}' must be an array.`);
  return (value as (Path | null)[]).map((each) => {
    const path = each?.path;
    if (typeof path !== 'string') throw badRequest(`Each of the indexing policy's '${name}' needs a 'path'.`);
    if (path === '/') return { ...each, path: ROOT };
    if (/^\/(?:.*\/)?[*?]$/.test(path)) return { ...each, path };
    throw badRequest(
      `The indexing path '${path}' could not be accepted: it must start with '/' and end with '/?' or '/*'.`,
    );
  });
}

function checkComposites(value: unknown): void {
  if (value === undefined || value === null) return;
  const good = (each: Partial<Path> & { order?: unknown }): boolean =>
    typeof each?.path === 'string' &&
    /^\/[^*?]+$/.test(each.path) &&
    (each.order === undefined || each.order === 'ascending' || each.order === 'descending');
  if (Array.isArray(value) && value.every((set) => Array.isArray(set) && set.length >= 2 && set.every(good))) return;
  throw badRequest(
    "The composite indexes must be arrays of at least two paths without wildcards, each with the order 'ascending' or 'descending'.",
  );
}

/** Whether the values at a path are indexed: the longest included or excluded path that covers it decides. */
export function isPathIndexed(policy: WireDoc, path: readonly string[]): boolean {
  if (policy.indexingMode === 'none') return false;
  if (path.length === 1 && (path[0] === 'id' || path[0] === '_ts')) return true;
  const best = (paths: unknown): number =>
    Math.max(-1, ...(paths as Path[]).map((each) => precision(pathSteps(each.path), path)));
  return best(policy.includedPaths) > best(policy.excludedPaths);
}

/** How precisely an indexing path covers `path`; -1 if it doesn't. */
function precision(steps: readonly string[], path: readonly string[]): number {
  const end = steps.at(-1);
  const fixed = steps.slice(0, -1);
  if (end === '?' ? fixed.length !== path.length : fixed.length > path.length) return -1;
  return fixed.every((step, i) => step === path[i]) ? fixed.length * 2 + (end === '?' ? 1 : 0) : -1;
}

/** Refuses an order that no index can serve: several keys need a composite index with just these. */
export function checkOrder(policy: WireDoc, keys: readonly SortKey[]): void {
  // Elements of arrays and results of subqueries have no index to check.
  if (keys.length === 0 || keys.some(({ path }) => path === undefined)) return;
  if (keys.length === 1) {
    if (keys[0]!.path!.length === 0 || isPathIndexed(policy, keys[0]!.path!)) return;
    throw badRequest(
      'The order-by item is not indexed: the query requires a range index to be defined on the corresponding index path.',
    );
  }
  const sets = (policy.compositeIndexes ?? []) as { path: string; order?: string }[][];
  const serves = (set: (typeof sets)[number], reversed: boolean): boolean =>
    set.length === keys.length &&
    set.every(({ path, order }, i) => {
      const { path: wanted, descending } = keys[i]!;
      return pathSteps(path).join('/') === wanted!.join('/') && (order === 'descending') === (descending !== reversed);
    });
  if (sets.some((set) => serves(set, false) || serves(set, true))) return;
  throw badRequest('The order by query does not have a corresponding composite index that it can be served from.');
}
