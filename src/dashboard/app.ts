import { type Context as Request, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { streamSSE } from 'hono/streaming';
import { MillraceError, messageOf } from '../base/errors.ts';
import { withoutSecrets } from '../base/secrets.ts';
import type { Workspace } from '../runtime/workspace.ts';
import { type DashboardRole, assertOwn } from './access.ts';
import { type Allowed, type AskedOperation, askedOf } from './allowed.ts';
import { dashboardError } from './errors.ts';
import type { PageFile } from './files.ts';
import type { Live } from './live.ts';
import type { Context } from '../procedures/context.ts';
import { type OperationResult, operationName } from '../verbs/operation.ts';
import { shownOnPage } from './shown.ts';

/** Who asks. */
export interface Caller {
  readonly role: DashboardRole;
  /** Who changes something, for the audit. */
  readonly actor: string;
}

export interface AppOptions {
  /** @throws MillraceError if this caller may see nothing */
  readonly callerOf: (request: Request) => Caller;
  /** A request must name the loopback address, because everybody who reaches it may do everything. */
  readonly open: boolean;
  /** Browsers sign in here, and can sign out again. */
  readonly signIn?: SignIn;
  readonly allowed: Allowed;
  readonly files: ReadonlyMap<string, PageFile>;
  /** What browsers read: a stream, or where there is none, milliseconds between two questions of a page. */
  readonly live: Live | number;
  /** Runs what changes something. */
  readonly start: (asked: AskedOperation, context: Omit<Context, 'screen'>) => Promise<OperationResult>;
  /** @throws MillraceError `dashboard-starting`, and why the workspace couldn't be opened */
  readonly workspace: () => Workspace;
  readonly version: string;
  /** Aborted when the dashboard stops. */
  readonly signal: AbortSignal;
}

export interface SignIn {
  /** Undefined: it is no token. */
  readonly signIn: (request: Request, token: string) => DashboardRole | undefined;
  readonly signOut: (request: Request) => void;
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
  const { callerOf, allowed, files, live, workspace, signal } = options;
  const app = new Hono();
  app.use(async (request, next) => {
    await next();
    for (const [name, value] of Object.entries(HEADERS)) request.res.headers.set(name, value);
  });
  app.use(async (request, next) => {
    assertOwn(request.req.raw.headers, request.req.method, options.open);
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
  if (options.signIn) signInRoutes(app, options.signIn);
  app.get('/api/session', (request) => {
    const { role } = callerOf(request);
    const mine = allowed.values().filter(({ operation }) => role === 'operator' || operation.effect === 'reads');
    return request.json({
      role,
      version: options.version,
      signedIn: options.signIn !== undefined,
      pollMs: typeof live === 'number' ? live : null,
      operations: [...mine].map(({ operation }) => operationName(operation)),
    });
  });
  if (typeof live !== 'number') eventRoute(app, live, callerOf);
  const run = async (request: Request) => {
    const { role, actor } = callerOf(request);
    const { noun = '', verb } = request.req.param();
    const asked = askedOf(allowed, verb === undefined ? noun : `${noun} ${verb}`, await bodyOf(request));
    if (asked.effect !== 'reads' && role !== 'operator')
      throw dashboardError('operator-missing', `${asked.name} changes something, and a reader asked for it`);
    const answer = await perform(asked, { workspace: workspace(), actor, signal }, options.start);
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

function signInRoutes(app: Hono, { signIn, signOut }: SignIn): void {
  app.on('POST', '/api/sign-in', async (request) => {
    const body: unknown = await bodyOf(request);
    const token = typeof body === 'object' && body !== null && 'token' in body ? body.token : undefined;
    const role = typeof token === 'string' ? signIn(request, token) : undefined;
    if (!role) throw dashboardError('sign-in-missing', 'The dashboard does not know this token');
    return request.json({ role });
  });
  app.post('/api/sign-out', (request) => {
    signOut(request);
    return request.json({});
  });
}

function eventRoute(app: Hono, live: Live, callerOf: AppOptions['callerOf']): void {
  app.get('/api/events', (request) => {
    callerOf(request);
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

async function perform(
  asked: AskedOperation,
  given: Omit<Context, 'screen'>,
  start: AppOptions['start'],
): Promise<unknown> {
  const { operation, effect, input, dryRun, yes, name } = asked;
  const quiet = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };
  if (dryRun) {
    if (!operation.plan) throw dashboardError('request-malformed', `${name} has no plan`);
    return { plan: shownOnPage(await operation.plan(input, { ...given, screen: quiet })) };
  }
  if (effect === 'destroys' && !yes)
    throw dashboardError('request-malformed', `${name} can’t be undone, and the request does not confirm it`);
  const { value, text, ok } =
    effect === 'reads' ? await operation.run(input, { ...given, screen: quiet }) : await start(asked, given);
  return { ok, result: shownOnPage(value), text: shownOnPage(text) };
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
  unauthenticated: 401,
  'role-missing': 403,
  'authentication-off': 503,
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
