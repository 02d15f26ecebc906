// The dashboard in a function app: behind Entra sign-in alone, without an event stream, which would hold an instance.
import type { HttpRequest, HttpResponseInit } from '@azure/functions';
import type { Hono } from 'hono';
import { packageVersion } from '../../base/package.ts';
import { allowedOf } from '../../dashboard/allowed.ts';
import { type AppOptions, type Caller, dashboardApp } from '../../dashboard/app.ts';
import { pageFiles } from '../../dashboard/files.ts';
import { Runs } from '../../dashboard/runs.ts';
import type { Registry } from '../../verbs/registry.ts';
import type { Workspace } from '../../runtime/workspace.ts';
import { hostError } from '../errors.ts';
import { record } from '../http/audit.ts';
import { offered } from '../http/offered.ts';
import { MOST_MS } from '../http/operations.ts';
import { admit } from '../http/roles.ts';

/** Each question of a page runs `status`, which the account and the app are billed for. */
const POLL_MS = 10_000;

export interface FunctionDashboard {
  readonly workspace: Workspace;
  readonly registry: Registry;
}

export type Serve = (
  request: HttpRequest,
  given: { readonly signal: AbortSignal; readonly log: (line: string) => void },
) => Promise<HttpResponseInit>;

export function functionDashboard(given: FunctionDashboard): Serve {
  const allowed = allowedOf(offered(given.registry));
  const files = pageFiles();
  const runs = new Runs(() => undefined);
  const start = startOf(runs);
  const { workspace } = given;
  const appOf = (signal: AbortSignal): Hono =>
    dashboardApp({
      callerOf: ({ req }) => callerOf(req.raw.headers),
      open: false,
      allowed,
      files,
      live: POLL_MS,
      start,
      workspace: () => workspace,
      version: packageVersion(),
      signal,
    });
  return async (request, { signal, log }) => {
    const path = request.params['path'] ?? '';
    // Its addresses are relative to the folder that its page seems to be in.
    if (path === '') {
      const location = `${new URL(request.url).pathname.replace(/(?<!\/)\/+$/, '')}/index.html`;
      return { status: 302, headers: { location } };
    }
    const began = performance.now();
    const asked = new Request(new URL(`/${path}`, 'https://dashboard.invalid'), {
      method: request.method,
      headers: [...request.headers],
      ...(request.method === 'GET' ? {} : { body: await request.arrayBuffer() }),
    });
    const { status, headers, body } = await responseOf(
      appOf(AbortSignal.any([signal, AbortSignal.timeout(MOST_MS)])).fetch(asked),
    );
    if (request.method !== 'GET') {
      const ms = Math.round(performance.now() - began);
      const operation = path.replace(/^api\/run\//, '').replace('/', ' ');
      log(record('http', { ...whoIs(asked.headers), operation, status, ms }));
    }
    return { status, headers, body };
  };
}

async function responseOf(answering: Response | Promise<Response>) {
  const response = await answering;
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: new Uint8Array(await response.arrayBuffer()),
  };
}

/** For the log. */
function whoIs(headers: Headers): Caller | { readonly actor: string } {
  try {
    return callerOf(headers);
  } catch {
    return { actor: 'nobody' };
  }
}

/** @throws UsageError `unauthenticated`, `role-missing`, `authentication-off` */
export function callerOf(headers: Headers): Caller {
  // Keys don't open it: without Entra anybody could set the header that names the caller.
  const entra = { MILLRACE_AUTH: 'entra', WEBSITE_AUTH_ENABLED: process.env['WEBSITE_AUTH_ENABLED'] };
  const operator = admit(headers, 'operator', entra);
  if ('actor' in operator) return { role: 'operator', actor: operator.actor };
  const reader = admit(headers, 'reader', entra);
  if ('actor' in reader) return { role: 'reader', actor: reader.actor };
  throw hostError(reader.code, reader.message);
}

/** With a queue of jobs, what may take long is a job: a request ends after some minutes. */
const startOf =
  (runs: Runs): AppOptions['start'] =>
  async (asked, context) => {
    const canWait = 'background' in asked.operation.input.shape && context.workspace.settings().jobsUrl !== undefined;
    return runs.start(canWait ? { ...asked, input: { ...asked.input, background: true } } : asked, context);
  };
