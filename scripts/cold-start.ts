// Measures the cold start of the built app: from before dist/functions/index.js is imported until its first batch is
// durable, against the embedded server in another process. Usage: node --conditions=millrace-source scripts/cold-start.ts
// [RUNS], after a build.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { loadSettings } from '../src/base/settings.ts';
import { installCore } from '../src/host/local-host/core.ts';

const root = join(import.meta.dirname, '..');

interface Measured {
  readonly indexed: number;
  readonly durable: number;
  readonly warm: number;
  /** Of the processor, all threads, until the first batch was done. */
  readonly cpu: number;
}

if (process.argv[2] === 'child') await child(JSON.parse(process.argv[3] ?? '') as Record<string, unknown>);
else await measure(Number(process.argv[2] ?? 7));

async function measure(runs: number): Promise<void> {
  const bin = join(root, 'bin/millrace.mjs');
  const server = spawn(process.execPath, [bin, 'emulator', 'start', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    let said = '';
    while (!said.includes("COSMOS='")) said += String(((await once(server.stdout, 'data')) as unknown[])[0]);
    const account = /COSMOS='([^']+)'/.exec(said)?.[1] ?? '';
    const names = { COSMOS_DATABASE: 'shop', LEASES_DATABASE: 'shop', LEASES_CONTAINER: 'leases' };
    const env = { ...process.env, COSMOS: account, LEASES: account, ...names };
    const order = await prepare(env);
    const self = fileURLToPath(import.meta.url);
    const rows = Array.from({ length: runs }, () => run([self, 'child', JSON.stringify(order)], env));
    const median = (of: (row: Measured) => number): string =>
      `${Math.round(rows.map(of).toSorted((a, b) => a - b)[runs >> 1] ?? NaN)} ms`;
    console.log(`indexed            ${median(({ indexed }) => indexed)}`);
    console.log(`first batch done   ${median(({ durable }) => durable)}`);
    console.log(`  of it processor  ${median(({ cpu }) => cpu)}`);
    console.log(`second batch took  ${median(({ warm }) => warm)}`);
    console.log(`medians of ${runs} processes, without the start of Node itself`);
  } finally {
    server.kill();
  }
}

/** Makes the containers of the app's pipeline; answers with an order as its document has one. */
async function prepare(env: NodeJS.ProcessEnv): Promise<unknown> {
  const { openServices } = await import('../src/runtime/services.ts');
  const { loadPipeline } = await import('../src/runtime/pipeline/load-pipeline.ts');
  const { planModel } = await import('../src/procedures/apply/apply.ts');
  const services = await openServices(loadSettings({ processEnv: env }));
  const loaded = await loadPipeline(join(root, 'examples/storefront'));
  for (const step of await planModel(loaded, services)) await step.apply();
  services.close();
  return loaded.model.containers.find(({ name }) => name === 'Orders')?.types[0]?.examples[0];
}

function run(args: readonly string[], env: NodeJS.ProcessEnv): Measured {
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Measured;
}

async function child(order: Record<string, unknown>): Promise<void> {
  const core = installCore();
  // No date that the host would have rewritten: those documents are read again.
  const plain = JSON.stringify(order).replaceAll(/T\d\d:\d\d:\d\d[\d.]*Z/g, '');
  const deliver = (lsn: number): Promise<unknown> =>
    core.invoke('feed-Orders', {
      data: { string: JSON.stringify([{ ...(JSON.parse(plain) as object), _lsn: lsn, _etag: `"${lsn}"`, _ts: 1 }]) },
    });
  // The language worker talks gRPC to its host, so all that Node has for networks is loaded before any app is.
  for (const name of ['http2', 'https', 'tls', 'dns', 'zlib', 'crypto']) await import(`node:${name}`);
  const before = process.cpuUsage();
  const began = performance.now();
  await import(pathToFileURL(join(root, 'dist/functions/index.js')).href);
  const indexed = performance.now() - began;
  await deliver(Date.now());
  const durable = performance.now() - began;
  const { user, system } = process.cpuUsage(before);
  await deliver(Date.now() + 1);
  const warm = performance.now() - began - durable;
  process.stdout.write(JSON.stringify({ indexed, durable, warm, cpu: (user + system) / 1000 }));
  process.exit();
}
