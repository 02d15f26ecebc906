import { parentPort, workerData } from 'node:worker_threads';
import { UsageError, messageOf } from '../base/errors.ts';
import { type EmulatorOptions, startEmulator } from './index.ts';

/** What the thread says, once: where it listens, or why it doesn't. An error that crosses threads loses its class. */
export type Answer =
  | { readonly endpoint: string; readonly key: string; readonly connectionString: string }
  | { readonly refused: { readonly code: string; readonly message: string; readonly mend: string | undefined } }
  | { readonly failed: string };

// The embedded server in a thread of its own, and so on a core of its own. As a part of its starter's process it ends
// however that does, SIGKILL included, and leaves no lock on the data folder. Any message stops it.
parentPort?.postMessage(await start(workerData as EmulatorOptions));

async function start(options: EmulatorOptions): Promise<Answer> {
  try {
    const server = await startEmulator(options);
    parentPort?.once('message', () => void server.close());
    const { endpoint, key, connectionString } = server;
    return { endpoint, key, connectionString };
  } catch (error) {
    if (!(error instanceof UsageError)) return { failed: messageOf(error) };
    const { code, message, mend } = error;
    return { refused: { code, message, mend } };
  }
}
