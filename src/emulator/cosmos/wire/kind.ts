import { header } from './wire.ts';
import type { WireCall } from './wire.ts';

const ON_ITEMS = [
  'read',
  'create',
  'upsert',
  'replace',
  'patch',
  'delete',
  'batch',
  'query',
  'query-plan',
  'read-feed',
  'change-feed',
] as const;

/** The kinds of request. Of kinds on resources (`colls.post`) only the form is checked. */
export const KINDS: readonly string[] = [...ON_ITEMS, 'account'];
export const isKind = (name: string): boolean =>
  KINDS.includes(name) || /^(?:dbs|colls|pkranges|offers|operations)\.(?:get|post|put|delete)$/.test(name);

/**
 * The kind of a request, for figures and rules: `read`, `create`, `upsert`, `replace`, `patch`, `delete`, `batch` (also
 * bulk), `query`, `query-plan`, `read-feed`, `change-feed`, `account`; for all others the resource and the method, such
 * as `pkranges.get`.
 */
export function requestKindOf({ method, segments, headers }: WireCall): string {
  if (segments.length === 0) return 'account';
  if (segments[4] !== 'docs') {
    const what = segments.length % 2 === 1 ? segments.at(-1)! : segments.at(-2)!;
    return `${what}.${method.toLowerCase()}`;
  }
  if (segments.length > 5) return { GET: 'read', PUT: 'replace', PATCH: 'patch', DELETE: 'delete' }[method] ?? method;
  if (method === 'GET') return headers['a-im'] === undefined ? 'read-feed' : 'change-feed';
  if (header(headers, 'x-ms-cosmos-is-batch-request') !== undefined) return 'batch';
  if (header(headers, 'x-ms-cosmos-is-query-plan-request') !== undefined) return 'query-plan';
  if (header(headers, 'x-ms-documentdb-isquery') !== undefined) return 'query';
  return header(headers, 'x-ms-documentdb-is-upsert') === undefined ? 'create' : 'upsert';
}
