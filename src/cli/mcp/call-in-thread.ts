import { once } from 'node:events';
import { extname } from 'node:path';
import type { Writable } from 'node:stream';
import { Worker } from 'node:worker_threads';
import type { WorkspaceOptions } from '../../runtime/workspace.ts';
import type { DescribedError } from '../describe-error.ts';
import { hostError } from '../../host/errors.ts';

/** What a thread runs (call.ts). */
export interface Call {
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly workspace: WorkspaceOptions;
}

/** `value`: as JSON, because what an operation returns may have classes. */
export type Answer =
  | { readonly value: string; readonly text: string; readonly ok: boolean }
  | { readonly error: DescribedError };

/**
 * Runs an operation in a thread of its own. A module stays loaded for the life of its thread, so only a new one sees what
 * was edited in a pipeline since the last call. The thread's standard output goes to `log`.
 * @throws MillraceError `process-ended`; rejects with the signal's reason, and if the thread throws
 */
export async function callInThread(call: Call, signal: AbortSignal, log: Writable): Promise<Answer> {
  const kind = extname(import.meta.url);
  const file = new URL(`./call${kind}`, import.meta.url);
  const worker = new Worker(file, {
    workerData: call,
    // A thread doesn't have the hook of bin/millrace.mjs, by which a pipeline in a checkout imports the sources.
    ...(kind === '.ts' && { execArgv: ['--conditions=millrace-source'] }),
    stdout: true,
    stderr: true,
    // The text of the result is for a program.
    env: { ...process.env, FORCE_COLOR: '0' },
  });
  worker.stdout.pipe(log, { end: false });
  worker.stderr.pipe(log, { end: false });
  // A tool only reads, so it can be ended at any point, even in a pipeline that hangs.
  const abort = (): void => void worker.terminate();
  signal.addEventListener('abort', abort);
  try {
    signal.throwIfAborted();
    const [answer] = await Promise.race([
      once(worker, 'message') as Promise<[Answer]>,
      once(worker, 'exit').then(([code]): never => {
        signal.throwIfAborted();
        throw hostError('process-ended', `${call.operation} ended without a result: exit code ${code}`, {
          hint: 'Run the same verb on the command line with `--debug` to see its origin.',
        });
      }),
    ]);
    return answer;
  } finally {
    signal.removeEventListener('abort', abort);
    await worker.terminate();
  }
}
