import { once as event } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { getCookie, setCookie } from 'hono/cookie';
import { sharedError } from '../base/shared-errors.ts';
import { messageOf } from '../base/errors.ts';
import { once } from '../base/once.ts';
import type { Operation } from '../verbs/operation.ts';
import type { Workspace } from '../runtime/workspace.ts';
import { DashboardAccess, type DashboardTokens, assertClosed, isLoopback } from './access.ts';
import { allowedOf } from './allowed.ts';
import { type AppOptions, dashboardApp, describe } from './app.ts';
import { dashboardError } from './errors.ts';
import { pageFiles } from './files.ts';
import { Live, type Published } from './live.ts';
import { Runs } from './runs.ts';
import { shownOnPage } from './shown.ts';

export interface DashboardOptions {
  /** The registered operations. The dashboard runs those that its pages need, and does nothing else. */
  readonly operations: readonly Operation[];
  /** What the operations work on. The dashboard answers before it is open, and shows why it can't be opened. */
  readonly workspace: Promise<Workspace>;
  readonly address: string;
  /** 0: any free port. */
  readonly port: number;
  /** With none, only a loopback address is allowed. */
  readonly tokens: DashboardTokens;
  /** Milliseconds between two looks at the pipeline, while somebody watches. */
  readonly everyMs: number;
  /** Who runs the dashboard, for the audit. */
  readonly actor: string;
  readonly version: string;
}

export interface Dashboard extends AsyncDisposable {
  readonly url: string;
  /** Browsers that read its stream. */
  readonly readers: number;
}

/** @throws UsageError `setting-invalid`, `cannot-listen` */
export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { operations, address, port, tokens, everyMs, actor, version } = options;
  assertClosed(address, tokens);
  const stopped = new AbortController();
  const { signal } = stopped;
  const allowed = allowedOf(operations);
  const opening = openingOf(options.workspace);
  const live: Live = new Live({ look: () => look(allowed.get('status')?.operation, opening, signal), everyMs, signal });
  const runs = new Runs((rows) => live.publish({ event: 'runs', data: () => JSON.stringify(rows) }));
  const access = new DashboardAccess(tokens);
  let bound = port;
  const app = dashboardApp({
    ...callersOf(access, actor, () => `millrace-${bound}`),
    open: access.open,
    allowed,
    files: pageFiles(),
    live,
    start: (asked, context) => runs.start(asked, context),
    workspace: opening,
    version,
    signal,
  });
  const server = createAdaptorServer({ fetch: app.fetch, hostname: address }) as Server;
  server.listen(port, address);
  try {
    await event(server, 'listening');
  } catch (cause) {
    throw sharedError('cannot-listen', `The dashboard can’t listen at ${address}:${port}: ${messageOf(cause)}`, {
      cause,
    });
  }
  bound = (server.address() as AddressInfo).port;
  return {
    url: `http://${isLoopback(address) ? (address.includes(':') ? `[${address}]` : address) : hostOf(address)}:${bound}/`,
    get readers() {
      return live.readers;
    },
    [Symbol.asyncDispose]: once(async () => {
      stopped.abort(new DOMException('The dashboard stops', 'AbortError'));
      const closed = event(server, 'close');
      server.close();
      await runs.idle();
      await live.idle();
      server.closeAllConnections();
      await closed;
    }),
  };
}

/** Callers are known by the session of their cookie. Cookies of one host don't know ports: two dashboards need two names. */
function callersOf(
  access: DashboardAccess,
  actor: string,
  cookie: () => string,
): Pick<AppOptions, 'callerOf' | 'signIn'> {
  const callerOf: AppOptions['callerOf'] = (request) => {
    const role = access.roleOf(getCookie(request, cookie()));
    if (role === undefined) throw dashboardError('sign-in-missing', 'The browser is not signed in');
    return { role, actor: access.open ? actor : `${actor} (dashboard ${role})` };
  };
  if (access.open) return { callerOf };
  return {
    callerOf,
    signIn: {
      signIn: (request, token) => {
        const signed = access.signIn(token);
        if (signed) setCookie(request, cookie(), signed.session, { httpOnly: true, sameSite: 'Strict', path: '/' });
        return signed?.role;
      },
      signOut: (request) => access.signOut(getCookie(request, cookie())),
    },
  };
}

const hostOf = (address: string): string =>
  address === '0.0.0.0' || address === '::' ? 'localhost' : address.includes(':') ? `[${address}]` : address;

/** The workspace, as far as it is open. */
function openingOf(workspace: Promise<Workspace>): () => Workspace {
  let opened: { readonly workspace: Workspace } | { readonly error: unknown } | undefined;
  workspace.then(
    (value) => (opened = { workspace: value }),
    (error: unknown) => (opened = { error }),
  );
  return () => {
    if (!opened) throw dashboardError('dashboard-starting', 'What the dashboard shows is still being opened');
    if ('error' in opened) throw opened.error;
    return opened.workspace;
  };
}

/** One look at the pipeline, which may fail: the page shows the failure. */
async function look(status: Operation | undefined, opening: () => Workspace, signal: AbortSignal): Promise<Published> {
  const at = new Date().toISOString();
  // Browsers that come later get the same text.
  const published = (what: object): Published => {
    const data = JSON.stringify({ at, ...what });
    return { event: 'status', data: () => data };
  };
  try {
    const screen = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };
    const result = await status?.run({}, { workspace: opening(), actor: 'dashboard', signal, screen });
    return published({ value: shownOnPage(result?.value ?? null) });
  } catch (error) {
    return published({ error: describe(error) });
  }
}
