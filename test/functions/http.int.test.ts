import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { SHOP, type Stage, openStage } from '../support/stage.ts';
import { type FunctionsHost, indexApp } from './host.ts';

let stage: Stage;
let app: FunctionsHost;
beforeAll(async () => {
  stage = await openStage();
  app = await indexApp({ ...stage.env, MILLRACE_PIPELINE: SHOP });
});
afterEach(() => {
  vi.unstubAllEnvs();
});
afterAll(async () => {
  await app.terminate();
  await stage[Symbol.asyncDispose]();
});

const bytes = (text: string) => ({ body: { bytes: Buffer.from(text) } });
const get = (noun: string, verb = '', query: Record<string, string> = {}) =>
  app.request('millrace-read', { params: { noun, verb }, query });
const post = (noun: string, verb: string, body = '{}', headers: Record<string, string> = {}, more = '') =>
  app.request('millrace-operate', {
    method: 'POST',
    params: { noun, verb, more },
    headers: { 'content-type': 'application/json', ...headers },
    ...bytes(body),
  });
const query = (noun: string, verb: string, asked: Record<string, string>) =>
  app.request('millrace-operate', { method: 'POST', params: { noun, verb }, query: asked });
type Refused = [string, () => Promise<unknown>, number, string];
const principal = (...roles: string[]) => ({
  'x-ms-client-principal': Buffer.from(
    JSON.stringify({
      auth_typ: 'aad',
      name_typ: 'name',
      role_typ: 'roles',
      claims: [{ typ: 'name', val: 'Ada' }, ...roles.map((val) => ({ typ: 'roles', val }))],
    }),
  ).toString('base64'),
});

describe('operations over HTTP', () => {
  it('HTTP runs what reads, with input from the query, and lists what there is', async () => {
    expect(await get('status')).toMatchObject({
      status: 200,
      body: { operation: 'status', ok: true, result: { database: 'shop' } },
    });
    expect(await get('dead-letters', 'list', { only: 'days@1' })).toMatchObject({ status: 200, body: { result: [] } });
    const { body } = await app.request('millrace-read');
    const names = (body as { operations: { operation: string }[] }).operations.map(({ operation }) => operation);
    expect(names).toEqual(expect.arrayContaining(['status', 'projections verify', 'leases list', 'archive sweep']));
    // Nothing that starts something, works on files, or holds the app.
    expect(names.filter((name) => /^(dev|run|init|emulator|functions|model|jobs work)/.test(name))).toEqual([]);
  });

  it.each([
    ['an unknown verb', () => get('projections', 'verfy'), 404, 'did you mean projections verify?'],
    ['what is there, and not offered', () => get('emulator', 'start'), 404, 'no operation emulator start'],
    ['an unknown field', () => get('dead-letters', 'list', { onlyy: 'x' }), 400, 'did you mean only?'],
    ['a field of another type', () => post('dead-letters', 'list', '{"only":7}'), 400, '--only'],
    ['an unknown name', () => get('dead-letters', 'show', { id: 'nope' }), 404, 'nope'],
    ['a filter by no projection', () => get('dead-letters', 'list', { only: 'dais' }), 404, 'did you mean days?'],
    [
      'a mistyped source',
      () => post('leases', 'rewind', '{"to":"beginning","container":"Ordrs"}'),
      404,
      'did you mean Orders?',
    ],
    ['a mistyped container', () => post('migrate', '', '{"name":"Ordrs","into":"Days"}'), 404, 'Ordrs'],
    ['GET of what changes', () => get('archive', 'sweep'), 405, 'changes something'],
    [
      'GET of what changes by a field alone',
      () => get('shards', 'moves', { map: 'tenants', cancel: '1f0c' }),
      405,
      'changes something',
    ],
    ['a body that is no JSON', () => post('status', '', '{"a":'), 400, 'not JSON'],
    ['a body that is no object', () => post('status', '', '[1]'), 400, 'not an object'],
    [
      'a body in no UTF-8',
      () =>
        app.request('millrace-operate', {
          method: 'POST',
          params: { noun: 'status' },
          body: { bytes: Uint8Array.of(0x22, 0xff, 0x22) },
        }),
      400,
      'not JSON',
    ],
    [
      'a body of another kind',
      () => post('status', '', 'a=b', { 'content-type': 'application/x-www-form-urlencoded' }),
      415,
      'not application/json',
    ],
    ['a body too large', () => post('status', '', `{"x":"${'y'.repeat(70_000)}"}`), 413, '70,008 bytes'],
    ['a mistyped dry run', () => post('archive', 'sweep', '{"dryrun":true}'), 400, 'did you mean dryRun?'],
    [
      'input of a POST in the query',
      () => query('checkpoints', 'delete', { dryRun: 'true' }),
      400,
      'the query has dryRun',
    ],
    ['a query of the list', () => get('', '', { only: 'x' }), 400, 'the query has only'],
    [
      'a file of settings on its own machine',
      () => post('migrate', '', '{"name":"Orders","into":"Days","intoEnv":"x/../../s1"}'),
      400,
      'no field intoEnv',
    ],
    ...(['delete', 'restore', 'save'] as const).map((verb): Refused => [
      `a checkpoint's name with a path in it: ${verb}`,
      () => post('checkpoints', verb, '{"name":"../../x","yes":true}'),
      400,
      'without blanks or / \\ # ?',
    ]),
    [
      'the same in a point to rewind to',
      () => post('leases', 'rewind', '{"to":"checkpoint:../../x"}'),
      400,
      '"../../x" is not a valid checkpoint name',
    ],
    [
      'the same in a replay',
      () => post('projections', 'replay', '{"name":"days","checkpoint":"../../x"}'),
      400,
      '"../../x" is not a valid checkpoint name',
    ],
    [
      'a container’s name with a path in it',
      () => post('migrate', '', '{"name":"../../x","into":"Days"}'),
      400,
      'none of / \\ # ?',
    ],
    ['a dry run of what only reads', () => post('status', '', '{"dryRun":true}'), 400, 'no dry run'],
  ])('HTTP refuses %s, and hints at what to do', async (_, ask, status, message) => {
    const answer = await ask();
    expect(answer).toMatchObject({
      status,
      body: {
        error: { code: expect.any(String), message: expect.stringContaining(message), hint: expect.any(String) },
      },
    });
  });

  it('HTTP asks before it destroys', async () => {
    const { registry } = await import('../../src/host/registry.ts');
    const { offered } = await import('../../src/host/http/offered.ts');
    const { operationName } = await import('../../src/verbs/operation.ts');
    const asked = ([noun = '', verb = '', more = '']: string[], body?: string) => post(noun, verb, body, {}, more);
    for (const operation of offered(registry)) {
      const path = operationName(operation).split(' ');
      if (operation.effect !== 'destroys') continue;
      expect(await asked(path)).toMatchObject({ status: 409, body: { error: { code: 'not-confirmed' } } });
    }
    const resolve = await asked(['shards', 'check'], '{"map":"tenants","repair":"target"}');
    expect(resolve).toMatchObject({ status: 409, body: { error: { code: 'not-confirmed' } } });
  });

  it('HTTP logs who asked for what', async () => {
    await get('status');
    expect(app.logged.filter((line) => line.includes('"millrace":"http"')).at(-1)).toMatch(
      /"role":"reader","actor":"key:reader","operation":"status","status":200/,
    );
  });
});

describe('with MILLRACE_AUTH=entra', () => {
  const entra = (enabled = 'True') => {
    vi.stubEnv('MILLRACE_AUTH', 'entra');
    vi.stubEnv('WEBSITE_AUTH_ENABLED', enabled);
  };

  it.each([
    ['nobody', {}, 401, 401],
    ['somebody without a role', principal(), 403, 403],
    ['a reader', principal('Millrace.Reader'), 200, 403],
    ['an operator', principal('Millrace.Operator'), 200, 200],
    ['a header that is no principal', { 'x-ms-client-principal': 'e30=' }, 401, 401],
    ['a header that is no JSON', { 'x-ms-client-principal': '%%%' }, 401, 401],
  ])('an app with MILLRACE_AUTH=entra lets %s do what the role may', async (_, headers, reading, operating) => {
    entra();
    const read = await app.request('millrace-read', { params: { noun: 'status' }, headers });
    expect(read.status).toBe(reading);
    expect((await post('status', '', '{}', headers as Record<string, string>)).status).toBe(operating);
  });

  it('an app with MILLRACE_AUTH=entra believes no header while App Service authentication is off', async () => {
    entra('');
    const headers = principal('Millrace.Operator');
    expect(await app.request('millrace-read', { params: { noun: 'status' }, headers })).toMatchObject({
      status: 503,
      body: { error: { code: 'authentication-off' } },
    });
  });

  it('an app with MILLRACE_AUTH=entra records the name, and refuses a setting that is neither', async () => {
    entra();
    await app.request('millrace-read', { params: { noun: 'status' }, headers: principal('Millrace.Reader') });
    expect(app.logged.at(-1)).toContain('"actor":"Ada"');
    vi.stubEnv('MILLRACE_AUTH', 'entre');
    expect(await get('status')).toMatchObject({ status: 503, body: { error: { code: 'setting-invalid' } } });
  });
});

describe('timers', () => {
  it('timers run the operation and leave one line of JSON', async () => {
    await app.fire('metrics');
    const line = app.logged.findLast((of) => of.includes('"millrace":"timer"')) ?? '';
    expect(JSON.parse(line.slice(line.indexOf('{')))).toMatchObject({
      millrace: 'timer',
      operation: 'status',
      actor: 'timer:metrics',
      ok: true,
      value: { database: 'shop' },
    });
  });

  it('name operations that are there, with input that these take', async () => {
    const { registry } = await import('../../src/host/registry.ts');
    const { TIMERS } = await import('../../src/host/functions/timers.ts');
    for (const { operation, input } of TIMERS)
      expect(registry.get(operation)?.input.safeParse(input)).toMatchObject({ success: true });
  });

  it('log a failure as an error, and reject, so that the host counts it', async () => {
    await using other = await openStage();
    await other.services.global.leases.delete();
    const broken = await indexApp({ ...other.env, MILLRACE_PIPELINE: SHOP });
    await expect(broken.fire('metrics')).rejects.toThrow(/container leases/);
    expect(broken.logged.at(-1)).toMatch(/^error: .*"ok":false/);
    await broken.terminate();
    app = await indexApp({ ...stage.env, MILLRACE_PIPELINE: SHOP });
  });
});
