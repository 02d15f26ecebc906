import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Screen } from '../../procedures/screen.ts';
import type { WorkerAnswer, WorkerInput } from './worker.ts';
import { hostError } from '../errors.ts';

/** An app in a process of its own. */
export interface RunningWorker {
  readonly answer: Promise<WorkerAnswer>;
  readonly ended: Promise<unknown>;
  stop(): Promise<void>;
}

/** Longer than the process gives its running work to end. */
const KILL_MS = 12_000;

export function startWorker(input: WorkerInput, env: NodeJS.ProcessEnv, screen: Screen): RunningWorker {
  const extension = extname(import.meta.url);
  const file = fileURLToPath(new URL(`./worker${extension}`, import.meta.url));
  // In a checkout `import … from 'millrace'` then imports these sources.
  const execArgv = extension === '.ts' ? ['--conditions=millrace-source'] : [];
  const child = fork(file, [JSON.stringify(input)], {
    cwd: input.root,
    env,
    execArgv,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  for (const stream of [child.stdout, child.stderr]) passOn(stream, screen);
  const ended = once(child, 'close');
  const kill = (): void => void child.kill('SIGKILL');
  // A second Ctrl-C ends this process, and the app's may be in code that never returns.
  process.once('exit', kill);
  child.once('close', () => process.off('exit', kill));
  return {
    answer: answerOf(child, ended),
    ended,
    stop: async () => {
      if (child.connected) child.send('stop');
      const late = setTimeout(kill, KILL_MS);
      await ended.finally(() => clearTimeout(late));
    },
  };
}

async function answerOf(child: ChildProcess, ended: Promise<unknown>): Promise<WorkerAnswer> {
  const first = once(child, 'message').then(([message]) => message as WorkerAnswer);
  const died = ended.then(() => {
    throw hostError('process-ended', 'The app’s process ended before the app had started');
  });
  // If the message comes first, the process ends later, and that is no failure.
  died.catch(() => undefined);
  return Promise.race([first, died]);
}

/** Passes a stream on line by line, so that the lines of two streams don't mix. */
function passOn(stream: NodeJS.ReadableStream | null, screen: Screen): void {
  let rest = '';
  stream?.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) screen.line(line);
  });
}
