import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../base/errors.ts';
import { hostError } from '../errors.ts';
import { sharedError } from '../../base/shared-errors.ts';

/** Azurite, an emulated storage account, in a process of its own. */
export interface Azurite {
  readonly connectionString: string;
  /** Aborted, with the reason, if Azurite ends before `close` is called. */
  readonly ended: AbortSignal;
  /** Writes what is in memory to the folder, and ends. */
  close(): Promise<void>;
}

const ACCOUNT = 'millrace';
const LISTENS = /listens on http:\/\/[\d.]+:(\d+)/;
const PID_FILE = 'azurite.pid';
const PREDECESSOR_MS = 15_000;

// When the parent ends, even by SIGKILL, its channel closes, and Azurite then stops as at a SIGTERM: it saves its lists,
// of which a kill would lose the last seconds. It must not fail because its output streams are closed.
const PRELOAD = `data:text/javascript,${encodeURIComponent(`
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
`)}`;

/**
 * Starts Azurite's blob service on a free port of this machine. Without a folder it is in memory.
 * @throws UsageError `missing`, `unwritable`
 */
export async function startAzurite({ folder }: { folder?: string | undefined } = {}): Promise<Azurite> {
  const main = azuriteMain();
  if (folder !== undefined) await claim(folder);
  const key = randomBytes(64).toString('base64');
  const persistence = folder === undefined ? ['--inMemoryPersistence'] : ['--location', folder];
  const child = fork(
    main,
    [...persistence, '--skipApiVersionCheck', '--disableTelemetry', '--silent', '--blobPort', '0'],
    {
      execArgv: ['--import', PRELOAD],
      env: { ...process.env, AZURITE_ACCOUNTS: `${ACCOUNT}:${key}` },
      // A process group of its own: Ctrl-C then reaches only the parent, which may still have something to store.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    },
  );
  if (folder !== undefined) writeFileSync(join(folder, PID_FILE), String(child.pid));
  const port = await listening(child);

  const ending = new AbortController();
  let asked = false;
  const exit = once(child, 'exit');
  child.once('exit', (code) => {
    if (folder !== undefined) rmSync(join(folder, PID_FILE), { force: true });
    if (!asked)
      ending.abort(
        hostError('process-ended', `Azurite ended unexpectedly (exit code ${String(code)})`, {
          hint: 'Run the command again. If Azurite fails again, give `--data` another folder.',
        }),
      );
  });
  return {
    connectionString: [
      'DefaultEndpointsProtocol=http',
      `AccountName=${ACCOUNT}`,
      `AccountKey=${key}`,
      `BlobEndpoint=http://127.0.0.1:${port}/${ACCOUNT}`,
    ].join(';'),
    ended: ending.signal,
    close: async () => {
      asked = true;
      if (child.connected) child.disconnect();
      await exit;
    },
  };
}

/** Azurite is large and only for development, so the user installs it. */
function azuriteMain(): string {
  try {
    return createRequire(import.meta.url).resolve('azurite/dist/src/blob/main.js');
  } catch (cause) {
    const message = 'The pipeline needs Blob Storage for its archives and ingests, and Azurite is not installed';
    throw sharedError('missing', message, {
      hint: 'Install it with `npm install --save-dev azurite@3.37.0`, or use a real account: `--account` with `STORAGE` set.',
      cause,
    });
  }
}

/** Waits until the Azurite of a killed run has ended, because it may still be saving: two on one folder would lose blobs. */
async function claim(folder: string): Promise<void> {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (cause) {
    throw sharedError('unwritable', `The folder ${folder} can't be used: ${messageOf(cause)}`, {
      cause,
      hint: 'Give --data a folder that you may write to.',
    });
  }
  const file = join(folder, PID_FILE);
  for (const since = performance.now(); performance.now() - since < PREDECESSOR_MS; await delay(20)) {
    const pid = readPid(file);
    if (pid === undefined || !isRunning(pid)) return;
  }
  throw sharedError('unwritable', `Another process (${readPid(file) ?? '?'}) keeps blobs in ${folder}`, {
    hint: `End that process, or give --data another folder. If it is not Azurite, delete ${file}.`,
  });
}

function readPid(file: string): number | undefined {
  try {
    const pid = Number(readFileSync(file, 'utf8'));
    return Number.isInteger(pid) && pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Waits until Azurite serves, and returns its port. */
async function listening(child: ChildProcess): Promise<number> {
  let output = '';
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const hear = (text: unknown): void => {
    output += String(text);
    const port = LISTENS.exec(output)?.[1];
    if (port !== undefined) resolve(Number(port));
  };
  child.stdout?.on('data', hear);
  child.stderr?.on('data', hear);
  child.once('error', reject);
  child.once('exit', () =>
    reject(
      hostError('process-ended', `Azurite did not start: ${output.trim() || 'it wrote no message'}`, {
        hint: 'Run the command again. If Azurite fails again, give `--data` another folder.',
      }),
    ),
  );
  try {
    return await promise;
  } finally {
    child.stdout?.off('data', hear).resume();
    child.stderr?.off('data', hear).resume();
  }
}
