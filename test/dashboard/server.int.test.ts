import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { pageFiles } from '../../src/dashboard/files.ts';
import type { Dashboard } from '../../src/dashboard/server.ts';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import { type Stage, openStage } from '../support/stage.ts';
import { OWN, code, post, serve } from './served.ts';

let stage: Stage;
let dashboard: Dashboard;
beforeEach(async () => {
  stage = await openStage();
});
afterEach(async () => {
  await dashboard[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

const OPERATOR = 'operator-0123456789';
const READER = 'reader-0123456789';
const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(new URL(path, dashboard.url), { headers });

/** An id that would run a script where an id became markup. */
const EVIL = '<img src=x onerror=alert(1)>';

async function park(ids: readonly string[]): Promise<void> {
  for (const id of ids)
    await stage
      .container('Orders')
      .items.upsert({ id, type: 'order', storeId: 's1', customerId: 'c1', placedAt: 7, cents: 100 });
  const app = await compose({ ...stage, host: 'test', readLagMs: 0, timings: { pollMs: 40 } });
  await app.start();
  await app.drained(AbortSignal.timeout(60_000));
  await app.stop();
}

describe('the page', () => {
  it('the page is served with its files, a policy without inline script, and no cache', async () => {
    dashboard = await serve(stage);
    const page = await get('/');
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|http/);
    const html = await page.text();
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|\son\w+=|<style|\sstyle=/);
    for (const [, path = ''] of html.matchAll(/(?:src|href)="([^"#]*)"/g)) {
      const file = await get(path);
      expect({ path, status: file.status }).toEqual({ path, status: 200 });
      expect(file.headers.get('x-content-type-options')).toBe('nosniff');
      expect(file.headers.get('cache-control')).toBe('no-store');
      await file.arrayBuffer();
    }
  });

  it('the page is less than 150 KB compressed', () => {
    const sizes = [...pageFiles()].map(([name, { bytes }]) => ({ name, size: gzipSync(bytes).length }));
    const all = sizes.filter(({ name }) => name !== '/').reduce((sum, { size }) => sum + size, 0);
    expect(sizes.find(({ name }) => name === '/lib/uplot.js')?.size).toBeGreaterThan(10_000);
    expect(all).toBeLessThan(150_000);
  });

  it('the page serves nothing but its files', async () => {
    dashboard = await serve(stage);
    for (const path of ['/../package.json', '/%2e%2e/package.json', '/page/../../errors.ts', '/dom.ts', '/api/nothing'])
      expect({ path, status: (await get(path)).status }).toEqual({ path, status: 404 });
  });
});

describe('operations', () => {
  it('operations run by POST alone, with the header of the page', async () => {
    dashboard = await serve(stage);
    expect((await get('/api/run/status')).status).toBe(404);
    const bare = await fetch(new URL('/api/run/status', dashboard.url), { method: 'POST', body: '{}' });
    expect(bare.status).toBe(403);
    const plain = await post(dashboard.url, '/api/run/status', {}, { 'content-type': 'text/plain' });
    expect([plain.status, code(plain)]).toEqual([400, 'request-malformed']);
    const other = await post(dashboard.url, '/api/run/status', {}, { origin: 'http://evil.example' });
    expect([other.status, code(other)]).toEqual([403, 'request-foreign']);
    const own = await post(dashboard.url, '/api/run/status', {});
    expect(own.body).toMatchObject({ ok: true, result: { database: 'shop' } });
  });

  it('operations are refused under a name of another site that resolves to this machine', async () => {
    dashboard = await serve(stage);
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const asked = request(
        new URL('/api/run/status', dashboard.url),
        { method: 'POST', headers: { ...OWN, host: 'evil.example' } },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      );
      asked.on('error', reject).end('{}');
    });
    expect(status).toBe(403);
  });

  it('operations refuse a large body', async () => {
    dashboard = await serve(stage);
    const large = await post(dashboard.url, '/api/run/status', { input: { x: 'y'.repeat(70_000) } });
    expect([large.status, code(large)]).toEqual([400, 'request-malformed']);
  });

  it('redrive and discard dead letters: planned, confirmed, once for a press', async () => {
    dashboard = await serve(stage);
    await park(['order-1', EVIL.replaceAll('/', '')]);
    const listed = await post(dashboard.url, '/api/run/dead-letters/list', {});
    const groups = listed.body['result'] as { code: string; count: number; example: string }[];
    expect(groups.length).toBeGreaterThan(0);
    const [group] = groups;
    const input = { code: group!.code, reason: 'a test' };
    const planned = await post(dashboard.url, '/api/run/dead-letters/discard', { input, dryRun: true });
    expect((planned.body['plan'] as { steps: string[] }).steps.length).toBe(group!.count);
    const unconfirmed = await post(dashboard.url, '/api/run/dead-letters/discard', { input, once: 'press-one' });
    expect([unconfirmed.status, code(unconfirmed)]).toEqual([400, 'request-malformed']);
    const redriven = await post(dashboard.url, '/api/run/dead-letters/redrive', {
      input: { code: group!.code },
      once: 'press-two',
    });
    expect(redriven.body).toMatchObject({ ok: false });
    const press = { input, once: 'press-three', yes: true };
    const [first, second] = await Promise.all([
      post(dashboard.url, '/api/run/dead-letters/discard', press),
      post(dashboard.url, '/api/run/dead-letters/discard', press),
    ]);
    expect(first.body).toMatchObject({ ok: true });
    expect(second.body).toEqual(first.body);
    const audit = await post(dashboard.url, '/api/run/audit', { input: { most: 50 } });
    const verbs = (audit.body['result'] as { verb: string; actor: string }[]).map(
      ({ verb, actor }) => `${actor} ${verb}`,
    );
    expect(verbs.filter((verb) => verb === 'tester dead-letters discard')).toHaveLength(1);
  });

  it('operations answer with the error’s message and hint, without its stack', async () => {
    dashboard = await serve(stage);
    const unknown = await post(dashboard.url, '/api/run/projections/show', { input: { name: 'dayz' } });
    expect(unknown.status).toBe(422);
    expect(unknown.body.error).toMatchObject({ message: expect.stringContaining('days') });
    expect(JSON.stringify(unknown.body)).not.toMatch(/at .*\.ts/);
  });

  it('operations are refused while the stage opens, and why it could not be opened is shown', async () => {
    const opening = Promise.withResolvers<never>();
    dashboard = await serve(stage, { workspace: opening.promise });
    const early = await post(dashboard.url, '/api/run/status', {});
    expect([early.status, code(early)]).toEqual([503, 'dashboard-starting']);
    opening.reject(new Error('no account; AccountKey=secret;'));
    await opening.promise.catch(() => undefined);
    const late = await post(dashboard.url, '/api/run/status', {});
    expect(late.status).toBe(500);
    expect(late.body.error?.message).toBe('no account; AccountKey=***;');
  });
});

describe('with tokens', () => {
  const signIn = async (token: string): Promise<string> => {
    const response = await fetch(new URL('/api/sign-in', dashboard.url), {
      method: 'POST',
      headers: OWN,
      body: JSON.stringify({ token }),
    });
    expect(response.status).toBe(200);
    const cookie = response.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/HttpOnly/);
    expect(cookie).toMatch(/SameSite=Strict/);
    expect(cookie).not.toContain(token);
    return cookie.split(';')[0]!;
  };

  it('nothing is shown without a session, and a token in an address or a header isn’t taken', async () => {
    dashboard = await serve(stage, { tokens: { operator: OPERATOR, reader: READER } });
    for (const path of ['/api/session', '/api/events', `/api/session?token=${OPERATOR}`]) {
      const response = await get(path, { authorization: `Bearer ${OPERATOR}`, cookie: `millrace=${OPERATOR}` });
      expect({ path, status: response.status }).toEqual({ path, status: 401 });
      await response.text();
    }
    const refused = await post(dashboard.url, '/api/run/status', {});
    expect([refused.status, code(refused)]).toEqual([401, 'sign-in-missing']);
    const wrong = await post(dashboard.url, '/api/sign-in', { token: 'not-the-token-0123' });
    expect([wrong.status, code(wrong)]).toEqual([401, 'sign-in-missing']);
  });

  it('a reader reads and changes nothing; an operator changes', async () => {
    dashboard = await serve(stage, { tokens: { operator: OPERATOR, reader: READER } });
    const reader = { cookie: await signIn(READER) };
    const operator = { cookie: await signIn(OPERATOR) };
    const session = (await (await get('/api/session', reader)).json()) as { role: string; operations: string[] };
    expect(session.role).toBe('reader');
    expect(session.operations).toContain('status');
    expect(session.operations).not.toContain('dead-letters discard');
    expect(await post(dashboard.url, '/api/run/status', {}, reader)).toMatchObject({ status: 200 });
    const pause = { input: { name: 'days', reason: 'a test' } };
    for (const more of [{ once: 'press-one' }, { dryRun: true }])
      expect(await post(dashboard.url, '/api/run/projections/pause', { ...pause, ...more }, reader)).toMatchObject({
        status: 403,
        body: { error: { code: 'operator-missing' } },
      });
    await park(['order-1']);
    expect(
      await post(dashboard.url, '/api/run/projections/pause', { ...pause, once: 'press-two' }, operator),
    ).toMatchObject({ status: 200 });
    await post(dashboard.url, '/api/sign-out', {}, operator);
    expect((await post(dashboard.url, '/api/run/status', {}, operator)).status).toBe(401);
  });
});

describe('the stream', () => {
  it('the stream shows the status, or why it cannot be read, and ends with the dashboard', async () => {
    dashboard = await serve(stage);
    const response = await get('/api/events');
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    while (!text.includes('"database":"shop"')) {
      const { done, value } = await reader.read();
      if (done) break;
      text += value;
    }
    expect(text).toContain('event: status');
    stage.emulator.faults({ rules: [{ container: 'millrace', status: 403 }] });
    while (!text.includes('"error"')) {
      const { done, value } = await reader.read();
      if (done) break;
      text += value;
    }
    expect(text).toContain('"error":{"code"');
    await dashboard[Symbol.asyncDispose]();
    let last = await reader.read().catch(() => ({ done: true }));
    while (!last.done) last = await reader.read().catch(() => ({ done: true }));
    expect(dashboard.readers).toBe(0);
  });

  it('the stream frees its place when the browser leaves', async () => {
    dashboard = await serve(stage);
    const left = new AbortController();
    const response = await fetch(new URL('/api/events', dashboard.url), { signal: left.signal });
    await response.body!.getReader().read();
    expect(dashboard.readers).toBe(1);
    left.abort();
    await vi.waitUntil(() => dashboard.readers === 0, 10_000);
  });
});

it('the dashboard refuses a port that is taken, with the address', async () => {
  dashboard = await serve(stage);
  await expect(serve(stage, { port: Number(new URL(dashboard.url).port) })).rejects.toMatchObject({
    code: 'cannot-listen',
  });
});
