// Starts a Functions host and asks it what docs/assumptions.md takes hosts to do: with the built app, and with a small
// app of its own. COSMOS names an account with a key that may be written to, an emulator for one; AzureWebJobsStorage
// is the host's. Needs `npm run build` and Core Tools.
// How: --help.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Container, Database } from '@azure/cosmos';
import { messageOf } from '../../src/base/errors.ts';
import { loadSettings } from '../../src/base/settings.ts';
import { failureOf } from '../../src/cosmos/failure.ts';
import { loadPipeline } from '../../src/runtime/pipeline/load-pipeline.ts';
import { openServices } from '../../src/runtime/services.ts';
import { planModel } from '../../src/procedures/apply/apply.ts';
import { type Bench, type Probe, holds, same, until } from './probe.ts';
import { lineOf, reportOf } from './report.ts';
import { runProbes } from './run-probes.ts';

const ROOT = join(import.meta.dirname, '../..');
/** A host downloads its extensions at its first start. */
const START_MS = 300_000;

interface Host extends AsyncDisposable {
  readonly address: string;
  /** Resolves once `isSo`; rejects with what the host wrote where it ends or takes too long. */
  until(isSo: () => Promise<boolean>): Promise<void>;
}

async function startHost(command: string, app: string, env: Readonly<Record<string, string>>): Promise<Host> {
  const port = await freePort();
  const line = command.replaceAll('PORT', String(port)).replaceAll('ROOT', ROOT);
  const child = spawn(line, { cwd: app, env: { ...process.env, ...env }, shell: true, detached: true });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (said += text.toString()));
  const closed = once(child, 'close');
  const failed = (why: string): Error => new Error(`${why}: ${line}\n${said}`);
  return {
    address: `http://127.0.0.1:${port}`,
    until: async (isSo) => {
      const deadline = performance.now() + START_MS;
      while (!(await isSo())) {
        if (child.exitCode !== null) throw failed('The host has ended');
        if (performance.now() > deadline) throw failed('The host takes too long');
        await sleep(250, undefined, { signal: stopped.signal });
      }
    },
    [Symbol.asyncDispose]: async () => {
      // The shell's group: the host, and its worker.
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
      await closed;
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (typeof address !== 'object' || address === null) throw new Error('There is no free port.');
  return address.port;
}

const HELP = `npm run test:func -- [options]

Starts a Functions host and asks it what docs/assumptions.md takes hosts to do. Needs \`npm run build\`, Core Tools, COSMOS
with a connection string of an account that may be written to, and AzureWebJobsStorage.

  --host COMMAND     another host; PORT in it is replaced. \`func start --port PORT\` unless given
  --app DIRECTORY    another build of this repository
  --json FILE        writes the report as JSON

  npm run test:func
  npm run test:func -- --host 'node bin/millrace.mjs functions start --port PORT'

Exit code 1: an assumption does not hold.`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    host: { type: 'string', default: 'func start --port PORT' },
    app: { type: 'string', default: ROOT },
    json: { type: 'string' },
  },
});
const FIXTURE = 'test/fixtures/shop';
/** Beside the build, so that what it imports is the build. */
const SHOP = join(values.app, FIXTURE);
const COSMOS_DATABASE = `millrace-func-${randomUUID().slice(0, 8)}`;
const env = {
  COSMOS_DATABASE,
  LEASES: process.env['COSMOS'] ?? '',
  LEASES_DATABASE: COSMOS_DATABASE,
  LEASES_CONTAINER: 'leases',
  FUNCTIONS_WORKER_RUNTIME: 'node',
};

const stopped = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => stopped.abort(new Error('It was stopped.')));

async function main(): Promise<number> {
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  if (!existsSync(join(values.app, 'dist/functions/index.js')))
    throw new Error('There is no dist/: run `npm run build`.');
  const services = await openServices(loadSettings({ processEnv: { ...process.env, ...env, STORAGE: '' } }));
  const { database } = services.place;
  try {
    const { signal } = stopped;
    const container = async (): Promise<Container> => Promise.reject(new Error('These probes make none.'));
    const bench: Bench = { kind: 'emulator', client: database.client, database, container, signal };
    for (const step of await planModel(await loadPipeline(join(ROOT, FIXTURE)), services)) await step.apply();
    await database.containers.createIfNotExists({ id: 'Probed', partitionKey: '/pk' });
    const findings = await runProbes([...probesOf(database), ourApp(database)], bench, (of) => console.log(lineOf(of)));
    const report = reportOf(values.host, new Date(), findings);
    if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, undefined, 2)}\n`);
    return report.counts.holds === findings.length ? 0 : 1;
  } finally {
    // Where it was never made, the error says why.
    await database.delete().catch((error: unknown) => {
      if (failureOf(error).kind !== 'not-found') throw error;
    });
    services.close();
  }
}

/** With the small app: what is delivered, and what isn't any more. */
function probesOf(database: Database): Probe[] {
  const place = mkdtempSync(join(tmpdir(), 'millrace-func-'));
  const file = join(place, 'deliveries');
  type Delivery = readonly Readonly<Record<string, unknown>>[];
  const deliveries = (): Delivery[] =>
    existsSync(file)
      ? readFileSync(file, 'utf8')
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line) as Delivery)
      : [];
  const ids = (): unknown[] =>
    deliveries()
      .flat()
      .map(({ id }) => id);
  const { items } = database.container('Probed');
  const app = join(import.meta.dirname, 'probe-app');
  const write = (id: string, more: object = {}): Promise<unknown> => items.create({ id, pk: 'a', ...more });
  const started = async (): Promise<Host> => {
    const host = await startHost(values.host, app, { ...env, PROBE_FILE: file });
    await write('first', { at: '2026-01-01T10:00:00.000Z' });
    await host.until(async () => ids().includes('first'));
    return host;
  };
  return [
    {
      number: 'ASM-F2',
      asks: 'a batch comes as a list of documents whose ISO dates were written again',
      run: async () => {
        await using _ = await started();
        const first = deliveries()
          .flat()
          .find(({ id }) => id === 'first');
        same(first?.['at'], '2026-01-01T10:00:00Z', 'the date');
        holds(typeof first?.['_lsn'] === 'number', `its _lsn is ${JSON.stringify(first?.['_lsn'])}`);
      },
    },
    {
      number: 'ASM-F1',
      asks: 'behind a batch whose function threw without a retry policy the lease moves on',
      run: async (bench) => {
        try {
          const host = await startHost(values.host, app, { ...env, PROBE_FILE: file });
          await using _ = host;
          await write('bad', { fails: true });
          await host.until(async () => ids().includes('bad'));
          await write('next');
          await until(bench, 'The next document is delivered', async () => ids().includes('next'));
          same(ids().filter((id) => id === 'bad').length, 1, 'deliveries of the one that failed');
        } finally {
          rmSync(place, { recursive: true, force: true });
        }
      },
    },
  ];
}

/** With the built app: a change comes out as a document, a timer runs, HTTP answers. */
const ourApp = (database: Database): Probe => ({
  number: 'ASM-F11',
  asks: 'the built app gets documents, timers and requests in the forms that it takes',
  run: async (bench) => {
    const host = await startHost(values.host, values.app, { ...env, MILLRACE_PIPELINE: SHOP, JOBS_URL: '' });
    await using _ = host;
    const health = async (): Promise<Response | undefined> =>
      fetch(`${host.address}/api/millrace/health`).catch(() => undefined);
    await host.until(async () => (await health()) !== undefined);
    const ready = await health();
    same(ready?.status, 200, `health, ${await ready?.text()}`);
    const order = {
      id: 'o1',
      type: 'order',
      storeId: 's1',
      customerId: 'c1',
      placedAt: '2026-01-01T10:00:00.000Z',
      cents: 5,
    };
    await database.container('Orders').items.create(order);
    await until(bench, 'The order’s summary is there', async () => {
      const { resource } = await database.container('Summaries').item('o1', 's1').read<{ placedAt: string }>();
      return resource?.placedAt === order.placedAt;
    });
  },
});

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`error: ${messageOf(error)}`);
  process.exitCode = 2;
}
