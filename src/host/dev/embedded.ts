import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { flag, optional } from '../../verbs/flags.ts';
import { UsageError, messageOf } from '../../base/errors.ts';
import type { Emulator, EmulatorOptions } from '../../emulator/index.ts';
import type { ThreadAnswer, ThreadRefusal } from '../../emulator/thread.ts';
import { hostError } from '../errors.ts';

const share = z.number().min(0).max(1).optional();

/** Flags of the embedded server, shared by the commands that start it. */
export const embeddedInput = {
  data: optional('folder for the data (default: in memory, lost at the end)'),
  seed: z
    .int()
    .default(1)
    .describe('seed of the random faults, and of the workload of `dev`; the same seed repeats them'),
  replicaLag: z.int().min(0).optional().describe('milliseconds by which reads without a session token may be stale'),
  failAfterEffect: share.describe('share of writes, 0 to 1, that take effect but are answered with an error'),
  failBefore: share.describe('share of requests, 0 to 1, that fail without effect'),
  throttle: share.describe('share of requests, 0 to 1, that are answered 429'),
  adverse: flag(
    'all faults of a bad day: stale reads, lost answers, failures, throttling; the flags above override it',
  ),
};
const embedded = z.object(embeddedInput);
export type EmbeddedInput = z.output<typeof embedded> & {
  /** How many seconds of the past the server keeps. */
  readonly history?: number | undefined;
};

/**
 * Starts the embedded Cosmos DB server in this thread. Only this machine can reach it, unless `more` allows others.
 * @throws UsageError if another process uses the port, or the folder can't be used
 */
export async function startEmbedded(port: number, input: EmbeddedInput, more: EmulatorOptions = {}): Promise<Emulator> {
  // A dynamic import, because a deployment doesn't contain the server.
  const { startEmulator } = await import('../../emulator/index.ts');
  return startEmulator({ ...(await optionsOf(port, input)), ...more });
}

/** An embedded server in a thread of its own. */
export interface Beside extends Pick<Emulator, 'endpoint' | 'key' | 'connectionString' | 'close'> {
  /** Aborted, with the reason, if the server ends before `close` is called. */
  readonly ended: AbortSignal;
}

/**
 * Starts the server in a thread of its own, so that pipeline and server don't share one core.
 * @throws UsageError in the same cases as `startEmbedded`
 */
export async function startBeside(port: number, input: EmbeddedInput): Promise<Beside> {
  const file = new URL(`../../emulator/thread${extname(import.meta.url)}`, import.meta.url);
  const worker = new Worker(file, { workerData: await optionsOf(port, input) });
  const [answer] = (await once(worker, 'message')) as [ThreadAnswer];
  if ('refused' in answer) throw UsageError.from(answer.refused);
  if ('failed' in answer) throw hostError('process-ended', answer.failed);

  const ending = new AbortController();
  worker.on('message', ({ refused }: ThreadRefusal) => ending.abort(UsageError.from(refused)));
  const exit = once(worker, 'exit').catch((cause: unknown) => {
    const message = `The embedded server ended: ${messageOf(cause)}`;
    ending.abort(hostError('process-ended', message, { cause }));
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
