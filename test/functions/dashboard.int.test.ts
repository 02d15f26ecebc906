// The dashboard of a function app, behind Entra sign-in.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { SHOP, type Stage, openStage } from '../support/stage.ts';
import { type FunctionsHost, indexApp } from './host.ts';

let stage: Stage;
let app: FunctionsHost;
beforeAll(async () => {
  stage = await openStage();
  app = await indexApp({
    ...stage.env,
    MILLRACE_PIPELINE: SHOP,
    MILLRACE_AUTH: 'entra',
    WEBSITE_AUTH_ENABLED: 'True',
  });
});
afterAll(async () => {
  await app.terminate();
  vi.unstubAllEnvs();
  await stage[Symbol.asyncDispose]();
});

const URL_OF = 'https://app.example/api/millrace-dashboard';
const signedIn = (...roles: string[]) => ({
  'x-ms-client-principal': Buffer.from(
    JSON.stringify({
      name_typ: 'name',
      role_typ: 'roles',
      claims: [{ typ: 'name', val: 'Ada' }, ...roles.map((val) => ({ typ: 'roles', val }))],
    }),
  ).toString('base64'),
});
const READER = signedIn('Millrace.Reader');
const OPERATOR = signedIn('Millrace.Operator');
type Headers = Readonly<Record<string, string>>;

const get = (path: string, headers: Headers = {}) =>
  app.answer('millrace-dashboard', { url: `${URL_OF}/${path}`, params: { path }, headers });
async function post(path: string, headers: Headers, body: unknown = {}) {
  const { status, text } = await app.answer('millrace-dashboard', {
    method: 'POST',
    url: `${URL_OF}/${path}`,
    params: { path },
    headers: { 'content-type': 'application/json', 'x-millrace': 'test', ...headers },
    body: { bytes: Buffer.from(JSON.stringify(body)) },
  });
  return { status, body: JSON.parse(text) as { error?: { code: string }; [name: string]: unknown } };
}

it('the dashboard of a function app is a function that takes no key, whose page asks for no address outside its folder', async () => {
  const bindings = () => Object.values(app.functions.find(({ name }) => name === 'millrace-dashboard')?.bindings ?? {});
  expect(bindings()[0]).toMatchObject({ authLevel: 'anonymous', route: 'millrace-dashboard/{*path}' });
  const page = await get('index.html');
  expect(page).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } });
  expect(page.headers['content-security-policy']).toContain("script-src 'self';");
  // Its folder is not the host's root, so no address of the page begins at the root.
  for (const [, path = ''] of page.text.matchAll(/(?:src|href)="([^"#]*)"/g))
    expect({ path, status: (await get(path)).status }).toEqual({ path, status: 200 });
});

it.each([URL_OF, `${URL_OF}/`])('%s leads to the page', async (url) => {
  const { status, headers } = await app.answer('millrace-dashboard', { url, params: {} });
  expect([status, headers['location']]).toEqual([302, '/api/millrace-dashboard/index.html']);
});

describe('who may what', () => {
  it.each([
    ['nobody', {}, 401, 'unauthenticated'],
    ['somebody without a role', signedIn(), 403, 'role-missing'],
    ['a header that is no principal', { 'x-ms-client-principal': 'e30=' }, 401, 'unauthenticated'],
  ] as const)('%s sees nothing', async (_, headers, status, code) => {
    const session = await get('api/session', headers);
    expect([session.status, JSON.parse(session.text)]).toMatchObject([status, { error: { code } }]);
    expect(await post('api/run/status', headers)).toMatchObject({ status, body: { error: { code } } });
  });

  it('a reader asks for the status, and changes nothing', async () => {
    const session = JSON.parse((await get('api/session', READER)).text) as { operations: string[] };
    expect(session).toMatchObject({ role: 'reader', pollMs: 10_000, signedIn: false });
    expect(session.operations).toContain('status');
    // What needs files of the machine isn't there.
    expect(session.operations.filter((name) => name.startsWith('model'))).toEqual([]);
    expect(await post('api/run/status', READER)).toMatchObject({ status: 200, body: { result: { database: 'shop' } } });
    const pause = { input: { name: 'days', reason: 'a test' }, once: 'press-one' };
    expect(await post('api/run/projections/pause', READER, pause)).toMatchObject({
      status: 403,
      body: { error: { code: 'operator-missing' } },
    });
  });

  it('an operator changes something, and the audit and the log name it', async () => {
    const pause = { input: { name: 'days', reason: 'a test' }, once: 'press-two' };
    expect(await post('api/run/projections/pause', OPERATOR, pause)).toMatchObject({ status: 200, body: { ok: true } });
    const audit = await post('api/run/audit', OPERATOR, { input: { most: 10 } });
    expect(audit.body['result']).toMatchObject([{ actor: 'Ada', verb: 'projections pause', outcome: 'done' }]);
    expect(app.logged.at(-1)).toContain('"role":"operator","actor":"Ada","operation":"audit","status":200');
  });

  it('the dashboard believes no header while App Service authentication is off, nor with keys in place of Entra', async () => {
    vi.stubEnv('WEBSITE_AUTH_ENABLED', '');
    for (const auth of ['entra', 'key']) {
      vi.stubEnv('MILLRACE_AUTH', auth);
      const off = await post('api/run/status', OPERATOR);
      expect({ auth, ...off }).toMatchObject({ auth, status: 503, body: { error: { code: 'authentication-off' } } });
    }
    vi.stubEnv('MILLRACE_AUTH', 'entra');
    vi.stubEnv('WEBSITE_AUTH_ENABLED', 'True');
  });
});

it('the dashboard of a function app has no event stream, and refuses another site and what is not its page', async () => {
  expect((await get('api/events', OPERATOR)).status).toBe(404);
  expect((await get('../../package.json', OPERATOR)).status).toBe(404);
  const foreign = { ...OPERATOR, 'sec-fetch-site': 'cross-site' };
  expect(await post('api/run/status', foreign)).toMatchObject({
    status: 403,
    body: { error: { code: 'request-foreign' } },
  });
  const bare = await app.answer('millrace-dashboard', {
    method: 'POST',
    url: `${URL_OF}/api/run/status`,
    params: { path: 'api/run/status' },
    headers: { ...OPERATOR, 'content-type': 'application/json' },
    body: { bytes: Buffer.from('{}') },
  });
  expect(bare.status).toBe(403);
});
