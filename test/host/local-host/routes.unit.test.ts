import { expect, it } from 'vitest';
import type { FunctionMetadata } from '../../../src/host/local-host/core.ts';
import { match, routesOf } from '../../../src/host/local-host/routes.ts';

const http = (name: string, route: string | undefined, methods: string[] = []): FunctionMetadata => ({
  name,
  bindings: {
    request: {
      type: 'httpTrigger',
      direction: 'in',
      methods,
      authLevel: 'function',
      ...(route === undefined ? {} : { route }),
    },
    $return: { type: 'http', direction: 'out' },
  },
});
const routes = routesOf(
  [
    http('health', 'shop/health/{probe?}', ['GET']),
    http('read', 'shop/{noun?}/{verb?}', ['GET']),
    http('operate', 'shop/{noun?}/{verb?}', ['post']),
    http('files', 'files/{*path}'),
    http('typed', 'items/{id:int}'),
    http('plain', undefined),
  ],
  'api',
);
const found = (method: string, path: string) => {
  const result = match(routes, method, path);
  return 'route' in result ? [result.route.name, result.params] : result.methods;
};

it.each([
  ['GET', '/api/shop/health', ['health', {}]],
  ['GET', '/api/shop/health/live', ['health', { probe: 'live' }]],
  ['GET', '/api/shop', ['read', {}]],
  ['GET', '/api/SHOP/leases/list', ['read', { noun: 'leases', verb: 'list' }]],
  ['POST', '/api/shop/leases/list', ['operate', { noun: 'leases', verb: 'list' }]],
  ['PUT', '/api/files/a/b%20c', ['files', { path: 'a/b c' }]],
  ['GET', '/api/items/7', ['typed', { id: '7' }]],
  ['GET', '/api/plain', ['plain', {}]],
  ['DELETE', '/api/shop/leases', ['GET', 'POST']],
  ['GET', '/api/shop/a/b/c', []],
  ['GET', '/shop/health', []],
  ['GET', '/api/items', []],
  ['GET', '/api/shop/%E0%A4%A/x', ['read', { noun: '%E0%A4%A', verb: 'x' }]],
])('%s %s', (method, path, expected) => {
  expect(found(method, path)).toEqual(expected);
});
