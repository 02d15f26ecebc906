import { registry } from '../../src/host/registry.ts';
import type { DashboardOptions } from '../../src/dashboard/server.ts';
import { startDashboard } from '../../src/dashboard/server.ts';
import type { Workspace } from '../../src/runtime/workspace.ts';
import type { Stage } from '../support/stage.ts';

/** A dashboard over an embedded stage, with all registered operations. */
export const serve = (stage: Stage, more: Partial<DashboardOptions> = {}) =>
  startDashboard({
    operations: registry.all(),
    workspace: Promise.resolve(workspaceOf(stage)),
    address: '127.0.0.1',
    port: 0,
    tokens: {},
    everyMs: 200,
    actor: 'tester',
    version: '0.0.0-test',
    ...more,
  });

export function workspaceOf({ loaded, settings, services }: Stage): Workspace {
  const never = (): never => {
    throw new Error('the dashboard asks for something that the stage does not have');
  };
  const workspace: Workspace = {
    directory: loaded.folder,
    folder: loaded.folder,
    at: () => workspace,
    settings: () => settings,
    model: async () => loaded.model,
    pipeline: async () => loaded,
    declared: async () => undefined,
    services: async () => services,
    jobs: never,
    tables: never,
    close: async () => undefined,
  };
  return workspace;
}

export const OWN = { 'content-type': 'application/json', 'x-millrace': 'test' };

/** A POST as a page sends it. */
export async function post(
  url: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; body: { error?: { code: string; message: string }; [name: string]: unknown } }> {
  const response = await fetch(new URL(path, url), {
    method: 'POST',
    headers: { ...OWN, ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as { error?: { code: string; message: string } } };
}

export const code = ({ body }: { body: { error?: { code: string } } }): string | undefined => body.error?.code;
