import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { MillraceError, UsageError, messageOf } from '../../base/errors.ts';
import type { Emulator, EmulatorOptions } from '../../emulator/index.ts';
import type { Answer } from '../../emulator/thread.ts';

const share = z.number().min(0).max(1).optional();

/** How the embedded server can be asked to be: shared by the verbs that start it. */
export const embeddedInput = {
  data: z.string().optional().describe('folder to keep the data in; absent: in memory, gone at the end'),
  seed: z.int().default(1).describe('makes the workload, and the faults, repeatable'),
  replicaLag: z.int().min(0).optional().describe('milliseconds by which reads without a session token may be stale'),
  failAfterEffect: share.describe('share of writes, 0 to 1, that happen and yet fail'),
  failBefore: share.describe('share of requests, 0 to 1, that fail without effect'),
  throttle: share.describe('share of requests, 0 to 1, answered 429'),
  adverse: z
    .boolean()
    .default(false)
    .describe(
      'a bad day as a whole: stale reads, lost answers, failures, throttling; the flags above change parts of it',
    ),
};
const embedded = z.object(embeddedInput);
export type EmbeddedInput = z.output<typeof embedded> & {
  /** Seconds of the past that are kept. */
  readonly history?: number | undefined;
};

/**
 * Starts the embedded Cosmos DB server in this thread, on this machine only unless `more` says otherwise.
 * @throws UsageError where the port is taken or the folder can't be used
 */
export async function startEmbedded(port: number, input: EmbeddedInput, more: EmulatorOptions = {}): Promise<Emulator> {
  // Imported here and not above: the server reaches no deployment.
  const { startEmulator } = await import('../../emulator/index.ts');
  return startEmulator({ ...(await optionsOf(port, input)), ...more });
}

/** An embedded server beside the one who started it. */
export interface Beside extends Pick<Emulator, 'endpoint' | 'key' | 'connectionString' | 'close'> {
  /** Aborted, with the reason, if the server ends without being asked to. */
  readonly ended: AbortSignal;
}

/**
 * Starts it in a thread of its own, so that pipeline and server don't share one core.
 * @throws UsageError as `startEmbedded`
 */
export async function startBeside(port: number, input: EmbeddedInput): Promise<Beside> {
  const file = new URL(`../../emulator/thread${extname(import.meta.url)}`, import.meta.url);
  const worker = new Worker(file, { workerData: await optionsOf(port, input) });
  const [answer] = (await once(worker, 'message')) as [Answer];
  if ('refused' in answer) {
    const { code, message, mend } = answer.refused;
    throw new UsageError(code, message, mend === undefined ? {} : { mend });
  }
  if ('failed' in answer) throw new MillraceError('emulator-failed', answer.failed);

  const ending = new AbortController();
  const exit = once(worker, 'exit').catch((cause: unknown) => {
    const message = `The embedded server ended: ${messageOf(cause)}`;
    ending.abort(new MillraceError('emulator-failed', message, { cause }));
  });
  return {
    ...answer,
    ended: ending.signal,
    close: async () => {
      worker.postMessage('close');
      await exit;
    },
  };
}

async function optionsOf(port: number, input: EmbeddedInput): Promise<EmulatorOptions> {
  const { ADVERSE } = await import('../../emulator/index.ts');
  const { data, seed, replicaLag, failAfterEffect, failBefore, throttle, adverse, history } = input;
  return {
    port,
    seed,
    ...(data === undefined ? {} : { data }),
    faults: {
      ...(adverse ? ADVERSE : {}),
      ...(replicaLag === undefined ? {} : { replicaLagMs: replicaLag }),
      ...(failAfterEffect === undefined ? {} : { failAfterEffect }),
      ...(failBefore === undefined ? {} : { failBefore }),
      ...(throttle === undefined ? {} : { throttle }),
      ...(history === undefined ? {} : { historyMs: history * 1000 }),
    },
  };
}
