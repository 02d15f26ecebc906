// The deployed app in a language worker of its own, on the oldest supported Node and on this one; on each supported Node
// with MILLRACE_NODES=all (`npm run test:nodes`).
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ChangeFeedStartFrom } from '@azure/cosmos';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DeployedApp, buildDeployedApp } from '../support/deployed-app.ts';
import { OLDEST, SUPPORTED, nodeOf } from '../support/nodes.ts';
import { type Stage, openStage } from '../support/stage.ts';
import { type WorkerHost, startWorkerHost } from './worker/host.ts';

const ROOT = join(import.meta.dirname, '../..');
const NODES =
  process.env['MILLRACE_NODES'] === 'all' ? SUPPORTED : ([OLDEST, process.versions.node] as readonly string[]);
const FIRST = 'feed-Customers';

let deployed: DeployedApp;
beforeAll(() => {
  deployed = buildDeployedApp();
  for (const version of NODES) nodeOf(version);
}, 600_000);
afterAll(() => deployed[Symbol.dispose]());

const order = {
  id: 'o1',
  type: 'order',
  storeId: 's1',
  customerId: 'c1',
  placedAt: '2026-01-01T10:00:00.000Z',
  cents: 5,
};

function start(node: string, stage: Stage): Promise<WorkerHost> {
  const none = { JOBS_URL: '', STORAGE: '', STORAGE__blobServiceUri: '', MILLRACE_AUTH: '' };
  const pipeline = join(deployed.built, 'test/fixtures/shop');
  return startWorkerHost(node, deployed.app, { ...none, ...stage.env, MILLRACE_PIPELINE: pipeline });
}

describe.each(NODES)('on Node %s', (version) => {
  let node: string;
  beforeAll(() => {
    node = nodeOf(version);
  });

  it('every file of dist/ can be parsed', () => {
    const files = globSync('dist/**/*.js', { cwd: deployed.built });
    expect(files.length).toBeGreaterThan(20);
    const parse = `import { readFileSync } from 'node:fs'; import { SourceTextModule } from 'node:vm';
      for (const file of JSON.parse(readFileSync(0, 'utf8'))) try { new SourceTextModule(readFileSync(file, 'utf8')); }
      catch (error) { console.log(file + ': ' + error.message); }`;
    const said = execFileSync(
      node,
      ['--no-warnings', '--experimental-vm-modules', '--input-type=module', '-e', parse],
      {
        cwd: deployed.built,
        input: JSON.stringify(files),
        encoding: 'utf8',
      },
    );
    expect(said).toBe('');
  });

  it('the command line runs, built and from a checkout', () => {
    const { version: own } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    for (const entry of [join(deployed.built, 'dist/src/cli/main.js'), join(ROOT, 'bin/millrace.mjs')])
      expect(execFileSync(node, [entry, '--version'], { encoding: 'utf8' }).trim()).toBe(own);
  });

  it('the app as it is deployed is indexed', async () => {
    await using worker = await startWorkerHost(node, deployed.app, { MILLRACE_PIPELINE: '', JOBS_URL: '' });
    expect(worker.version).toBe(`v${version}`);
    const names = worker.functions.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['feed-Orders', 'metrics', 'archive-sweep', 'millrace-operate']));
    const raw = worker.functions.flatMap(({ rawBindings }) => rawBindings.map((each) => JSON.parse(each) as object));
    expect(raw).toContainEqual(
      expect.objectContaining({ type: 'cosmosDBTrigger', leaseContainerPrefix: 'storefront.Orders.' }),
    );
    expect(await worker.terminate()).toBe(0);
  });

  it('triggers derive, timers run, HTTP answers, and the worker ends when it is asked to', async () => {
    await using stage = await openStage();
    await using worker = await start(node, stage);
    await stage.container('Customers').items.upsert({ id: 'c1', type: 'customer', storeId: 's1', name: 'Ada' });
    await stage.container('Orders').items.upsert(order);
    const feed = async (name: string): Promise<readonly unknown[]> => {
      const from = { changeFeedStartFrom: ChangeFeedStartFrom.Beginning() };
      return (await stage.container(name).items.getChangeFeedIterator(from).readNext()).result;
    };
    await worker.deliver(FIRST, await feed('Customers'));
    const batch = await feed('Orders');
    await worker.deliver('feed-Orders', batch);
    // Again, in the other form that a worker may get.
    await worker.deliver('feed-Orders', batch, { retryCount: 2, as: 'json' });
    const { resource: summary } = await stage.container('Summaries').item('o1', 's1').read<Record<string, unknown>>();
    expect(summary).toMatchObject({ id: 'o1', customerName: 'Ada', placedAt: order.placedAt });
    const { resources: days } = await stage.container('Days').items.query('SELECT * FROM c').fetchAll();
    expect(days).toContainEqual(expect.objectContaining({ orders: 1, cents: 5 }));

    const timers = worker.functions.filter(({ bindings }) => Object.values(bindings)[0]?.['type'] === 'timerTrigger');
    expect(timers.map(({ name }) => name).toSorted()).toEqual(['doctor', 'leases-check', 'metrics', 'verify']);
    for (const { name } of timers) {
      await worker.fire(name);
      expect(worker.logged.join('\n')).toMatch(new RegExp(`"millrace":"timer".*"actor":"timer:${name}"`));
    }
    expect(await worker.request('millrace-health', { params: { probe: 'ready' } })).toMatchObject({
      status: 200,
      body: { ready: true },
    });
    expect(await worker.request('millrace-read', { params: { noun: 'dead-letters', verb: 'list' } })).toEqual({
      status: 200,
      body: { operation: 'dead-letters list', ok: true, result: [] },
    });
    const pause = { params: { noun: 'projections', verb: 'pause' }, method: 'POST', body: { name: 'days@1' } };
    expect(await worker.request('millrace-operate', pause)).toMatchObject({ status: 200, body: { ok: true } });
    expect(await worker.request('millrace-read', { params: { noun: 'statu' } })).toMatchObject({ status: 404 });
    expect(await worker.terminate()).toBe(0);
    expect(worker.written).not.toMatch(/SyntaxError|uncaught/);
  });
});

it('a worker says in health that timers and HTTP can’t be loaded, while triggers go on', async () => {
  await using stage = await openStage();
  // What the app loads late: the registry of operations.
  const chunks = join(deployed.app, 'dist/chunks/app');
  const entry = readFileSync(join(deployed.app, 'dist/functions/index.js'), 'utf8');
  const [, late = ''] = /import\(["'`]\.\.\/chunks\/app\/(registry-[\w-]+\.js)/.exec(entry) ?? [];
  const chunk = join(chunks, late);
  const text = readFileSync(chunk, 'utf8');
  writeFileSync(chunk, `${text}\nawait ...`);
  try {
    await using worker = await start(process.execPath, stage);
    expect(await worker.request('millrace-health')).toMatchObject({
      status: 503,
      body: { ready: false, problems: [{ code: 'unloadable' }] },
    });
    await worker.deliver(FIRST, [
      { id: 'c1', type: 'customer', storeId: 's1', name: 'Ada', _lsn: 1, _etag: '"1"', _ts: 1 },
    ]);
    await expect(worker.fire('metrics')).rejects.toThrow(/await|Unexpected/);
  } finally {
    writeFileSync(chunk, text);
  }
});
