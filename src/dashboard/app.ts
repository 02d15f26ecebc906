import { type Context as Request, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { getCookie, setCookie } from 'hono/cookie';
import { streamSSE } from 'hono/streaming';
import { MillraceError, messageOf } from '../base/errors.ts';
import { withoutSecrets } from '../base/secrets.ts';
import type { Workspace } from '../runtime/workspace.ts';
import { type Access, type Role, assertOwn } from './access.ts';
import { type Allowed, type Asked, askedOf } from './allowed.ts';
import { dashboardError } from './errors.ts';
import type { PageFile } from './files.ts';
import type { Live } from './live.ts';
import type { Runs } from './runs.ts';
import { shown } from './shown.ts';

export interface AppOptions {
  readonly access: Access;
  readonly allowed: Allowed;
  readonly files: ReadonlyMap<string, PageFile>;
  readonly live: Live;
  readonly runs: Runs;
  /** @throws MillraceError `dashboard-starting`, and why the workspace couldn't be opened */
  readonly workspace: () => Workspace;
  /** Who changes something, for the audit. */
  readonly actorOf: (role: Role) => string;
  readonly version: string;
  /** Aborted when the dashboard stops. */
  readonly signal: AbortSignal;
  /** Cookies of one host don't know ports: two dashboards need two names. */
  readonly cookie: () => string;
}

/** Only the page's own files run, and no text becomes markup: Trusted Types are required, and no policy makes any. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; " +
    "frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
  'cache-control': 'no-store',
};

/** Most bytes of a request; an operation's input is some names and numbers. */
const MOST_BODY = 64 * 1024;

/**
 * The routes. A GET changes nothing: it reads a file of the page, the session or the stream. Operations run by POST alone,
 * which needs a header that other sites can't send.
 */
export function dashboardApp(options: AppOptions): Hono {
  const { access, allowed, files, live, runs, workspace, signal } = options;
  const app = new Hono();
  app.use(async (request, next) => {
    await next();
    for (const [name, value] of Object.entries(HEADERS)) request.res.headers.set(name, value);
  });
  app.use(async (request, next) => {
    assertOwn(request.req.raw.headers, request.req.method, access.open);
    await next();
  });
  app.use(
    bodyLimit({
      maxSize: MOST_BODY,
      onError: () => {
        throw dashboardError('request-malformed', `The request has more than ${MOST_BODY} bytes`);
      },
    }),
  );
  const roleOf = (request: Request): Role => {
    const role = access.roleOf(getCookie(request, options.cookie()));
    if (role === undefined) throw dashboardError('sign-in-missing', 'The browser is not signed in');
    return role;
  };
  const signIn = async (request: Request) => {
    const body: unknown = await bodyOf(request);
    const token = typeof body === 'object' && body !== null && 'token' in body ? body.token : undefined;
    const signed = typeof token === 'string' ? access.signIn(token) : undefined;
    if (!signed) throw dashboardError('sign-in-missing', 'The dashboard does not know this token');
    setCookie(request, options.cookie(), signed.session, { httpOnly: true, sameSite: 'Strict', path: '/' });
    return request.json({ role: signed.role });
  };
  app.on('POST', '/api/sign-in', signIn);
  app.post('/api/sign-out', (request) => {
    access.signOut(getCookie(request, options.cookie()));
    return request.json({});
  });
  app.get('/api/session', (request) => {
    const role = roleOf(request);
    const mine = allowed.values().filter(({ operation }) => role === 'operator' || operation.effect === 'reads');
    return request.json({
      role,
      version: options.version,
      signedIn: !access.open,
      operations: [...mine].map(({ operation: { noun, verb } }) => (noun === undefined ? verb : `${noun} ${verb}`)),
    });
  });
  app.get('/api/events', (request) => {
    roleOf(request);
    const left = new AbortController();
    // Before the answer begins, so that a full dashboard answers with an error.
    const { promise: opened, resolve: open } = Promise.withResolvers<Parameters<Live['read']>[0]>();
    const reading = live.read(async (event) => (await opened)(event), left.signal);
    return streamSSE(request, async (stream) => {
      stream.onAbort(() => left.abort());
      open((event) => stream.writeSSE(event));
      await reading;
    });
  });
  const run = async (request: Request) => {
    const role = roleOf(request);
    const { noun = '', verb } = request.req.param();
    const asked = askedOf(allowed, verb === undefined ? noun : `${noun} ${verb}`, await bodyOf(request));
    if (asked.operation.effect !== 'reads' && role !== 'operator')
      throw dashboardError('operator-missing', `${asked.name} changes something, and a reader asked for it`);
    const answer = await perform(asked, { workspace: workspace(), actor: options.actorOf(role), signal }, runs);
    return request.json(answer as object);
  };
  app.on('POST', '/api/run/:noun/:verb?', run);
  app.get('*', (request) => {
    const file = files.get(request.req.path);
    if (!file) return request.json({ error: { code: 'not-found', message: 'The dashboard has no such page' } }, 404);
    return request.body(file.bytes, 200, { 'content-type': file.type });
  });
  app.onError((error, request) => request.json({ error: describe(error) }, statusOf(error)));
  app.notFound((request) => request.json({ error: { code: 'not-found', message: 'There is no such address' } }, 404));
  return app;
}

async function bodyOf(request: Request): Promise<unknown> {
  const type = request.req.header('content-type') ?? '';
  if (!/^application\/json\b/i.test(type))
    throw dashboardError('request-malformed', 'The body of the request is not JSON');
  try {
    return await request.req.json();
  } catch (cause) {
    if (cause instanceof MillraceError) throw cause;
    throw dashboardError('request-malformed', 'The body of the request is not JSON', { cause });
  }
}

interface Given {
  readonly workspace: Workspace;
  readonly actor: string;
  readonly signal: AbortSignal;
}

async function perform(asked: Asked, given: Given, runs: Runs): Promise<unknown> {
  const { operation, input, dryRun, yes, name } = asked;
  const quiet = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };
  if (dryRun) {
    if (!operation.plan) throw dashboardError('request-malformed', `${name} has no plan`);
    return { plan: shown(await operation.plan(input, { ...given, screen: quiet })) };
  }
  if (operation.effect === 'destroys' && !yes)
    throw dashboardError('request-malformed', `${name} can’t be undone, and the request does not confirm it`);
  const { value, text, ok } =
    operation.effect === 'reads'
      ? await operation.run(input, { ...given, screen: quiet })
      : await runs.start(asked, given);
  return { ok, result: shown(value), text: shown(text) };
}

/** An error as pages may show it: no stack, no cause, no secret. */
export const describe = (error: unknown): { code: string; message: string; hint?: string } => {
  const message = withoutSecrets(messageOf(error));
  if (!(error instanceof MillraceError)) return { code: 'unexpected', message };
  const { code, hint } = error;
  return { code, message, ...(hint === undefined ? {} : { hint: withoutSecrets(hint) }) };
};

const STATUS = {
  'sign-in-missing': 401,
  'operator-missing': 403,
  'request-foreign': 403,
  'request-malformed': 400,
  'run-underway': 409,
} as const;

function statusOf(error: unknown): 400 | 401 | 403 | 409 | 422 | 500 | 503 {
  if (!(error instanceof MillraceError)) return 500;
  const own = Object.entries(STATUS).find(([code]) => code === error.code)?.[1];
  return own ?? (error.retryable ? 503 : 422);
}
