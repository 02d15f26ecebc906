import { type HttpRequest, type InvocationContext, app } from '@azure/functions';
import { once } from '../../base/once.ts';
import type { Workspace } from '../../runtime/workspace.ts';
import type { Drain } from './drain.ts';
import { lateRegistry } from './late.ts';
import { failed } from '../http/answer.ts';
import { type HealthOptions, health } from '../http/health.ts';
import { serveOperation } from '../http/operations.ts';
import type { Role } from '../http/roles.ts';

/** The path below the host's route prefix (`api`): /api/millrace/…, so that an app can have other functions. */
export const BASE = 'millrace';

const ROUTES = [
  { name: 'millrace-read', role: 'reader', method: 'GET' },
  // A function of its own, so that it has a key of its own.
  { name: 'millrace-operate', role: 'operator', method: 'POST' },
] as const satisfies readonly { name: string; role: Role; method: 'GET' | 'POST' }[];

/** Registers health, which needs no key, and the operations; each function has its own keys. */
export function registerHttp(workspace: Workspace, drain: Drain, checked: HealthOptions): void {
  const probe = health(checked);
  app.http('millrace-health', {
    methods: ['GET'],
    authLevel: 'anonymous',
    route: `${BASE}/health/{probe?}`,
    handler: (request: HttpRequest) => probe(request.params['probe'] || undefined),
  });
  for (const { name, role, method } of ROUTES) {
    app.http(name, {
      methods: [method],
      authLevel: 'function',
      route: `${BASE}/{noun?}/{verb?}/{more?}`,
      handler: async (request: HttpRequest, context: InvocationContext) => {
        try {
          return await drain.run((signal) =>
            serveOperation(role, request, context, signal, { workspace, registry: lateRegistry }),
          );
        } catch (error) {
          return failed(error);
        }
      },
    });
  }
  // Without Entra there is no such function: a key would have to stand in the addresses of a browser.
  if (process.env['MILLRACE_AUTH'] === 'entra') registerDashboard(workspace, drain);
}

function registerDashboard(workspace: Workspace, drain: Drain): void {
  // Its code is loaded with the first request for it.
  const open = once(async () => {
    const [{ functionDashboard }, registry] = await Promise.all([import('./dashboard.ts'), lateRegistry()]);
    return functionDashboard({ workspace, registry });
  });
  app.http('millrace-dashboard', {
    methods: ['GET', 'POST'],
    // App Service authentication has checked the caller, and the dashboard checks the role.
    authLevel: 'anonymous',
    // Outside the paths of operations: the host's order among routes that fit one path isn't documented.
    route: `${BASE}-dashboard/{*path}`,
    handler: async (request: HttpRequest, context: InvocationContext) => {
      try {
        return await drain.run(async (signal) => (await open())(request, { signal, log: (text) => context.log(text) }));
      } catch (error) {
        return failed(error);
      }
    },
  });
}
