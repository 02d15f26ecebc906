// The thread of one call of a tool (call-in-thread.ts).
import { parentPort, workerData } from 'node:worker_threads';
import { openWorkspace } from '../../runtime/open-workspace.ts';
import { describeError } from '../describe-error.ts';
import { everyOperation } from '../registry.ts';
import type { Answer, Call } from './call-in-thread.ts';

const { operation: name, input, workspace: options } = workerData as Call;

async function answer(): Promise<Answer> {
  const workspace = openWorkspace(options);
  try {
    const operation = everyOperation.get(name);
    if (!operation) throw new Error(`There is no operation ${name}`);
    const nothing = (): void => undefined;
    const { value, text, ok } = await operation.run(input, {
      workspace,
      actor: 'mcp',
      // The thread is ended from outside.
      signal: new AbortController().signal,
      screen: { live: false, line: nothing, draw: nothing, progress: nothing },
    });
    return { value: JSON.stringify(value), text, ok };
  } catch (error) {
    return { error: describeError(error) };
  } finally {
    await workspace.close();
  }
}

parentPort?.postMessage(await answer());
