import { parentPort, workerData } from 'node:worker_threads';
import { UsageError, messageOf } from '../base/errors.ts';
import { type EmulatorOptions, startEmulator } from './index.ts';

export type ThreadRefusal = {
  readonly refused: { readonly code: string; readonly message: string; readonly hint: string | undefined };
};
/**
 * The first message of the thread: its address, or the error. An error that crosses threads loses its class. Another
 * refusal follows if the data folder can't be written any more.
 */
export type ThreadAnswer =
  | { readonly endpoint: string; readonly key: string; readonly connectionString: string }
  | ThreadRefusal
  | { readonly failed: string };

// The embedded server in a thread of its own, so that it can use a core of its own. It ends with its process, even at a
// SIGKILL, and then leaves no lock on the data folder. Any message stops it.
parentPort?.postMessage(await start(workerData as EmulatorOptions));

async function start(options: EmulatorOptions): Promise<ThreadAnswer> {
  try {
    const onUnwritable = (failure: UsageError): void => parentPort?.postMessage(refused(failure));
    const server = await startEmulator({ ...options, onUnwritable });
    parentPort?.once('message', () => void server.close());
    const { endpoint, key, connectionString } = server;
    return { endpoint, key, connectionString };
  } catch (error) {
    return error instanceof UsageError ? refused(error) : { failed: messageOf(error) };
  }
}

function refused({ code, message, hint }: UsageError): ThreadRefusal {
  return { refused: { code, message, hint } };
}
