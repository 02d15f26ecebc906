// Measures the cold start of the built app: from before dist/functions/index.js is imported until its first batch is
// durable, against the embedded server in another process. Usage: node scripts/cold-start.ts [RUNS], after a build.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { installCore } from '../src/host/local-host/core.ts';

const root = join(import.meta.dirname, '..');
const bin = join(root, 'bin/millrace.mjs');
const pipeline = join(root, 'test/fixtures/shop');
const order = { id: 'o1', type: 'order', storeId: 's1', customerId: 'c1', placedAt: 'today', cents: 100, _ts: 1 };

interface Measured {
  readonly indexed: number;
  readonly durable: number;
  readonly warm: number;
}

if (process.argv[2] === 'child') await child();
else await measure(Number(process.argv[2] ?? 7));

async function measure(runs: number): Promise<void> {
  const server = spawn(process.execPath, [bin, 'emulator', 'start', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    let said = '';
    while (!said.includes("COSMOS='")) said += String(((await once(server.stdout, 'data')) as unknown[])[0]);
    const account = /COSMOS='([^']+)'/.exec(said)?.[1] ?? '';
    const names = { COSMOS_DATABASE: 'shop', LEASES_DATABASE: 'shop', LEASES_CONTAINER: 'leases' };
    const env = { ...process.env, COSMOS: account, LEASES: account, ...names, MILLRACE_PIPELINE: pipeline };
    run([bin, 'model', 'apply'], env);
    const self = fileURLToPath(import.meta.url);
    const rows = Array.from({ length: runs }, () => JSON.parse(run([self, 'child'], env)) as Measured);
    const median = (of: (row: Measured) => number): string =>
      `${Math.round(rows.map(of).toSorted((a, b) => a - b)[runs >> 1] ?? NaN)} ms`;
    console.log(`indexed            ${median(({ indexed }) => indexed)}`);
    console.log(`first batch done   ${median(({ durable }) => durable)}`);
    console.log(`second batch took  ${median(({ warm }) => warm)}`);
    console.log(`medians of ${runs} processes, without the start of Node itself`);
  } finally {
    server.kill();
  }
}

function run(args: readonly string[], env: NodeJS.ProcessEnv): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

async function child(): Promise<void> {
  const core = installCore();
  const deliver = (lsn: number): Promise<unknown> =>
    core.invoke('feed-Orders', { data: { string: JSON.stringify([{ ...order, _lsn: lsn, _etag: `"${lsn}"` }]) } });
  const began = performance.now();
  await import(pathToFileURL(join(root, 'dist/functions/index.js')).href);
  const indexed = performance.now() - began;
  await deliver(Date.now());
  const durable = performance.now() - began;
  await deliver(Date.now() + 1);
  process.stdout.write(JSON.stringify({ indexed, durable, warm: performance.now() - began - durable }));
  process.exit();
}
