// Both kinds of datastore for jobs: PGlite by BullMQ's PostgreSQL backend, and Redis where redis-server is installed.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.ts';
import { startEmbeddedJobs } from '../../src/host/dev/jobs-embedded.ts';

export interface Datastore extends AsyncDisposable {
  readonly url: string;
}

const REDIS = spawnSync('redis-server', ['--version']).status === 0;
if (!REDIS) console.log('jobs on Redis: skipped, redis-server is not installed (apt-get install redis-server)');

async function startRedis(): Promise<Datastore> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-redis-'));
  const port = await freePort();
  const child: ChildProcess = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--enable-debug-command', 'yes'],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (text: Buffer) => /Ready to accept/.test(text.toString()) && resolve());
    child.once('exit', (code) => reject(new Error(`redis-server ended with ${String(code)}`)));
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Name, whether it can be started here, and how. */
export const DATASTORES = [
  ['PGlite', true, startEmbeddedJobs],
  ['Redis', REDIS, startRedis],
] as const;
