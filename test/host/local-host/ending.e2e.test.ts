import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Millrace, SOURCES, millrace } from '../../support/process.ts';
import { SHOP, openStage } from '../../support/stage.ts';

const ROOT = join(import.meta.dirname, '../../..');
let app: string;

beforeAll(() => {
  app = mkdtempSync(join(tmpdir(), 'millrace-app-'));
  writeFileSync(join(app, 'host.json'), '{ "version": "2.0" }');
  const main = relative(app, join(ROOT, 'functions/index.ts'));
  writeFileSync(join(app, 'package.json'), JSON.stringify({ type: 'module', main }));
});
afterAll(() => rmSync(app, { recursive: true }));

const start = (env: Readonly<Record<string, string>>): Millrace =>
  millrace(['functions', 'start', '--app', app, '--port', '0'], {
    bin: SOURCES,
    env: { ...env, MILLRACE_PIPELINE: SHOP, JOBS_URL: '', STORAGE: '' },
  });

it('the local host lists the functions with --list, and starts nothing', async () => {
  await using stage = await openStage();
  await using listed = millrace(['functions', 'start', '--list', '--app', app], {
    bin: SOURCES,
    env: { ...stage.env, MILLRACE_PIPELINE: SHOP, JOBS_URL: '', STORAGE: '' },
  });
  await listed.until(/feed-Orders +cosmosDBTrigger +Orders[^]*\d+ functions/);
  expect(await listed.ended).toEqual({ code: 0, signal: null });
});

// Less than it took, twice 34 s: leases can't be given back to an account that is gone, and each was waited for in turn.
// A busy machine takes up to 34 s.
it('the local host ends when it is asked to, though its account is gone', { timeout: 60_000 }, async () => {
  const stage = await openStage();
  await using host = start(stage.env);
  await host.until(/feed-Orders: cosmosDBTrigger/);
  await stage
    .container('Orders')
    .items.create({ id: 'o1', type: 'order', storeId: 's1', customerId: 'c1', placedAt: '2026-01-01', cents: 1 });
  await host.until(/feed-Orders: 1 document/);
  await stage[Symbol.asyncDispose]();
  host.kill('SIGTERM');
  expect(await host.ended).toEqual({ code: 143, signal: null });
});

it('the local host ends when it is asked to, though its account has never answered', { timeout: 60_000 }, async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const asked = once(silent, 'connection');
  const { port } = silent.address() as AddressInfo;
  const account = `AccountEndpoint=http://127.0.0.1:${port}/;AccountKey=a2V5;`;
  await using host = start({
    COSMOS: account,
    COSMOS_DATABASE: 'shop',
    LEASES: account,
    LEASES_DATABASE: 'shop',
    LEASES_CONTAINER: 'leases',
  });
  await asked;
  host.kill('SIGTERM');
  expect(await host.ended).toEqual({ code: 143, signal: null });
  silent.close();
});
