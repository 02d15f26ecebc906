// The app as it would be deployed, run by the local host against an embedded server in another process.
import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import type { Container } from '@azure/cosmos';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { visible } from '../../src/pipeline/oracle/recompute.ts';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import { type DeployedApp, buildDeployedApp } from '../support/deployed-app.ts';
import { type Millrace, millrace } from '../support/process.ts';
import { type Stage, openStage } from '../support/stage.ts';

let place: string;
let deployed: DeployedApp;

beforeAll(() => {
  // Of whoever runs this: what a process has set wins over local.settings.json.
  for (const name of Object.keys(process.env)) if (/^(COSMOS|LEASES|STORAGE)/.test(name)) vi.stubEnv(name, undefined);
  deployed = buildDeployedApp();
  place = deployed.place;
}, 120_000);
afterAll(() => {
  vi.unstubAllEnvs();
  deployed[Symbol.dispose]();
});

let stage: Stage;
beforeEach(async () => {
  stage = await openStage();
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

/** The command line too is the one that was built. */
const functions = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Millrace =>
  millrace(['functions', ...args, '--app', join(place, 'app')], {
    env,
    directory: place,
    bin: join(place, 'built/dist/src/cli/main.js'),
  });
const start = (more: Readonly<Record<string, string>> = {}): Millrace =>
  functions(['start', '--port', '0'], { ...stage.env, MILLRACE_PIPELINE: shop(), JOBS_URL: '', ...more });
/** The fixture beside the build, so that its `millrace` is what was built. */
const shop = (): string => join(place, 'built/test/fixtures/shop');

describe('the deployed files', () => {
  it('the deployed files are dist/ and little else', () => {
    const { files } = deployed;
    expect(files).toEqual(
      expect.arrayContaining([
        'host.json',
        'package.json',
        'dist/functions/index.js',
        'dist/examples/storefront/cosmosdb_data_model.md',
      ]),
    );
    expect(files.filter((file) => !/^(dist\/|host\.json$|package\.json$)/.test(file))).toEqual([]);
    expect(files.filter((file) => file.endsWith('.ts'))).toEqual([]);
  });

  it('index with the pipeline that was built beside them', async () => {
    await using listed = functions(['start', '--list', '--json'], { MILLRACE_PIPELINE: '' });
    const { code } = await listed.ended;
    expect([code, listed.stderr]).toEqual([0, '']);
    const names = (JSON.parse(listed.stdout) as { name: string }[]).map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['feed-Orders', 'archive-sweep', 'millrace-health', 'millrace-operate']),
    );
  });
});

it('azd’s hook before provisioning runs in a clone that packaging has left without development packages', () => {
  const hook = /preprovision:\n\s+shell: sh\n\s+run: (.*)\n/.exec(
    readFileSync(join(deployed.built, 'azure.yaml'), 'utf8'),
  )?.[1];
  expect(hook).toContain('model infra --check');
  const env = {
    ...process.env,
    CI: '',
    PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`,
  };
  const run = (): SpawnSyncReturns<string> =>
    spawnSync('sh', ['-c', hook ?? ''], { cwd: deployed.built, env, encoding: 'utf8' });
  expect(run()).toMatchObject({ status: 0, stdout: expect.stringContaining('Everything is up to date.') });
  appendFileSync(join(deployed.built, 'infra/modules/containers.bicep'), '\n');
  expect(run()).toMatchObject({ status: 1, stdout: expect.stringContaining('containers.bicep is stale') });
});

it('what `npm run test:func` asks of a host holds on ours', async () => {
  const script = join(import.meta.dirname, '../azure/func-start.ts');
  const host = `"${process.execPath}" "${join(deployed.built, 'dist/src/cli/main.js')}" functions start --port PORT`;
  const asking = spawn(
    process.execPath,
    ['--conditions=millrace-source', script, '--app', deployed.built, '--host', host],
    { env: { ...process.env, ...stage.env }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let said = '';
  for (const stream of [asking.stdout, asking.stderr]) stream.on('data', (text: Buffer) => (said += text.toString()));
  const [code] = (await once(asking, 'close')) as [number | null];
  expect([code, said.trim().split('\n')]).toEqual([0, ['ASM-F2   holds', 'ASM-F1   holds', 'ASM-F11  holds']]);
});

describe('functions start', () => {
  it('`functions start` derives from the feeds what our processor derives, asks for keys, and starts again on a change', async () => {
    await write(stage);
    await using app = start();
    const [, port] = await app.until(/http:\/\/localhost:(\d+)\/api\/millrace\/health/);
    await app.until(/feed-Orders: cosmosDBTrigger/);
    const [, key = ''] = await app.until(/millrace-read: ([\w-]{20,})/);
    const base = `http://127.0.0.1:${port}/api/millrace`;

    await using other = await openStage();
    await write(other);
    const processor = await compose({ ...other, host: 'test', readLagMs: 0, timings: { pollMs: 40 } });
    await processor.start();
    await processor.drained(AbortSignal.timeout(30_000));
    await processor.stop();
    for (const name of ['Summaries', 'Days']) {
      const wanted = await documents(other.container(name));
      expect(wanted).not.toEqual([]);
      await expect.poll(() => documents(stage.container(name)), { timeout: 60_000 }).toEqual(wanted);
    }

    expect((await fetch(`${base}/health`)).status).toBe(200);
    expect((await fetch(`${base}/status`)).status).toBe(401);
    expect((await fetch(`${base}/status?code=wrong`)).status).toBe(401);
    const read = { 'x-functions-key': key };
    const status = await fetch(`${base}/status`, { headers: read });
    expect(await status.json()).toMatchObject({ ok: true, result: { database: 'shop' } });
    // The reader's key opens no other function, and no header makes somebody of a caller.
    const post = { method: 'POST', headers: { ...read, 'x-ms-client-principal': 'e30=' }, body: '{}' };
    expect((await fetch(`${base}/status`, post)).status).toBe(401);
    expect((await fetch(`${base}/status`, { method: 'PUT', headers: read })).status).toBe(405);
    expect((await fetch(`http://127.0.0.1:${port}/nowhere`)).status).toBe(404);

    const now = new Date();
    utimesSync(join(place, 'app/host.json'), now, now);
    await app.until(/host\.json has changed; the app restarts[\s\S]*feed-Orders: cosmosDBTrigger/);
    app.kill('SIGINT');
    expect(await app.ended).toMatchObject({ code: 130 });
    expect(app.stdout).toContain('Stopped, after 2 starts.');
  });

  it.each([
    [
      'a setting is missing',
      { LEASES_CONTAINER: '' },
      async () => undefined,
      /The setting LEASES_CONTAINER is missing/,
    ],
    [
      'the lease container isn’t there',
      {},
      async (of: Stage) => void (await of.services.global.leases.delete()),
      /lease container leases/,
    ],
  ])('`functions start` ends with what is wrong and how to correct it where %s', async (_, more, spoil, message) => {
    await spoil(stage);
    await using app = start(more);
    const { code } = await app.ended;
    expect([code, app.stderr]).toEqual([2, expect.stringMatching(message)]);
    expect(app.stderr.trim().split('\n').length).toBeGreaterThan(1);
  });

  it('`functions start` reads local.settings.json', async () => {
    const file = join(place, 'app/local.settings.json');
    const Values = { ...stage.env, MILLRACE_PIPELINE: shop() };
    writeFileSync(file, JSON.stringify({ Values, Host: { LocalHttpPort: 0 } }));
    await using app = functions(['start']);
    const [, port] = await app.until(/localhost:(\d+)\/api\/millrace\/health[\s\S]*feed-Customers: cosmosDBTrigger/);
    expect((await fetch(`http://127.0.0.1:${port}/api/millrace/health`)).status).toBe(200);
    app.kill('SIGTERM');
    await app.ended;
    rmSync(file);
  });
});

async function write(of: Stage): Promise<void> {
  await of.container('Customers').items.upsert({ id: 'c1', type: 'customer', storeId: 's1', name: 'Ada' });
  for (let n = 0; n < 30; n++) {
    await of.container('Orders').items.upsert({
      id: `order-${n}`,
      type: 'order',
      storeId: `s${n % 2}`,
      customerId: n % 3 === 0 ? 'c1' : 'c2',
      placedAt: `2026-01-0${1 + (n % 4)}T10:00:00.000Z`,
      cents: 100 + n,
      ...(n === 7 ? { cancelled: true } : {}),
    });
  }
}

async function documents(container: Container): Promise<Record<string, unknown>[]> {
  const { resources } = await container.items.query<Record<string, unknown>>('SELECT * FROM c').fetchAll();
  return resources
    .filter(({ type }) => !String(type).startsWith('millrace.'))
    .map(visible)
    .toSorted((a, b) => String(a['id']).localeCompare(String(b['id'])));
}
