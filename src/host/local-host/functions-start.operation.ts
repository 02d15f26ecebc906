import { resolve } from 'node:path';
import { z } from 'zod';
import { flag } from '../../verbs/flags.ts';
import { UsageError } from '../../base/errors.ts';
import { defineOperation } from '../../verbs/operation.ts';
import type { Screen } from '../../procedures/screen.ts';
import { plural, textTable } from '../../procedures/table.ts';
import type { Binding } from '../functions/app-settings.ts';
import { readAppFiles } from './app-files.ts';
import { watchFiles } from './watch-files.ts';
import { type RunningWorker, startWorker } from './run-worker.ts';
import type { WorkerAnswer } from './worker.ts';

const DEFAULT_PORT = 7071;

interface Started {
  readonly app: string;
  readonly starts: number;
}

interface Listed {
  readonly name: string;
  readonly type: string;
  readonly binding: Binding;
}

export const functionsStart = defineOperation({
  name: 'functions start',
  summary: 'Run the function app in this folder without Core Tools: its triggers, timers and HTTP functions',
  examples: [
    'millrace functions start',
    'millrace functions start --port 7072',
    'millrace functions start --app my-app',
    'millrace functions start --list --json',
  ],
  effect: 'changes',
  lasting: true,
  input: z.object({
    app: z.string().default('.').describe('folder of the app, where host.json is'),
    port: z
      .int()
      .min(0)
      .max(65_535)
      .optional()
      .describe('port of the HTTP functions, on 127.0.0.1; 0: any free port (default: LocalHttpPort, else 7071)'),
    list: flag('start nothing: list the functions of the app, as the Functions worker indexes them'),
  }),
  run: async ({ app, port, list }, { workspace, signal, screen }): Promise<Started | Listed[]> => {
    const root = resolve(workspace.directory, app);
    if (list) return listed(root, screen);
    let starts = 0;
    for (;;) {
      const files = readAppFiles(root);
      const input = { root, port: port ?? files.port ?? DEFAULT_PORT };
      // The variables of this process override the file, as with Core Tools.
      const child = startWorker(input, { ...files.values, ...process.env }, screen);
      using change = changeOf(root, signal);
      const answer = await Promise.race([child.answer, change.aborted]);
      if (answer === undefined) {
        // The app may still be starting: an account that doesn't answer can delay it for minutes.
        child.answer.catch(() => undefined);
        await child.stop();
        return { app: root, starts };
      }
      if ('refused' in answer) {
        const { message, hint } = answer.refused;
        if (starts === 0) throw UsageError.from(answer.refused);
        screen.line(`error: ${message}${hint === undefined ? '' : `\n  ${hint}`}`);
      } else if ('ready' in answer) for (const line of answer.ready.lines) screen.line(line);
      starts += 1;
      const why = await Promise.race([change.seen, child.ended.then(() => undefined)]);
      if (why === undefined && !signal.aborted && 'ready' in answer)
        screen.line('The app’s process has ended. It starts again when a file changes.');
      const changed = why ?? (await change.seen);
      await child.stop();
      if (signal.aborted) return { app: root, starts };
      screen.line(`${changed} has changed; the app restarts.`);
    }
  },
  format: (result) =>
    Array.isArray(result)
      ? `${textTable(
          ['function', 'trigger', 'on'],
          result.map(({ name, type, binding }) => [name, type, onWhat(binding)]),
        )}\n${plural(result.length, 'function')}`
      : `Stopped, after ${plural(result.starts, 'start')}.`,
});

async function listed(root: string, screen: Screen): Promise<Listed[]> {
  const { values } = readAppFiles(root);
  const child = startWorker({ root, port: 0, list: true }, { ...values, ...process.env }, screen);
  const answer = await answerOf(child);
  if ('listed' in answer)
    return answer.listed.map(({ name, bindings }) => {
      const [trigger] = Object.values(bindings).filter(({ direction }) => direction === 'in');
      return { name, type: String(trigger?.['type']), binding: trigger ?? {} };
    });
  throw UsageError.from('refused' in answer ? answer.refused : { code: '', message: '' });
}

async function answerOf(child: RunningWorker): Promise<WorkerAnswer> {
  try {
    return await child.answer;
  } finally {
    await child.stop();
  }
}

function onWhat({ containerName, eventHubName, schedule, route }: Binding): string {
  return [containerName, eventHubName, schedule, route].find((of) => typeof of === 'string') ?? '';
}

/** `seen` resolves with the file that changed, or with '' at Ctrl-C; `aborted` resolves at Ctrl-C only. */
function changeOf(
  root: string,
  signal: AbortSignal,
): Disposable & { readonly seen: Promise<string>; readonly aborted: Promise<undefined> } {
  const { promise: seen, resolve: see } = Promise.withResolvers<string>();
  const { promise: aborted, resolve: abort } = Promise.withResolvers<undefined>();
  const watcher = watchFiles(root, see);
  const end = (): void => {
    see('');
    abort(undefined);
  };
  if (signal.aborted) end();
  signal.addEventListener('abort', end);
  // Keeps this process alive while the app is down and this process waits for a change.
  const alive = setInterval(() => {}, 2 ** 30);
  return {
    seen,
    aborted,
    [Symbol.dispose]: () => {
      watcher[Symbol.dispose]();
      clearInterval(alive);
      signal.removeEventListener('abort', end);
    },
  };
}
