import { resolve } from 'node:path';
import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import { defineOperation } from '../../operations/operation.ts';
import { plural, table } from '../../operations/table.ts';
import type { Binding } from '../functions/app-settings.ts';
import { readAppFiles } from './app-files.ts';
import { type RunningWorker, startWorker } from './run-worker.ts';
import type { WorkerAnswer } from './worker.ts';

export const functionsList = defineOperation({
  noun: 'functions',
  verb: 'list',
  summary: 'List the functions of the app in this folder, as the Functions worker indexes them',
  examples: ['millrace functions list', 'millrace functions list --json'],
  effect: 'reads',
  input: z.object({ app: z.string().default('.').describe('folder of the app, where host.json is') }),
  run: async ({ app }, { workspace, screen }) => {
    const root = resolve(workspace.directory, app);
    const { values } = readAppFiles(root);
    const child = startWorker({ root, port: 0, list: true }, { ...values, ...process.env }, screen);
    const answer = await answerOf(child);
    if ('listed' in answer) {
      return answer.listed.flatMap(({ name, bindings }) => {
        const [trigger] = Object.values(bindings).filter(({ direction }) => direction === 'in');
        return { name, type: String(trigger?.['type']), binding: trigger ?? {} };
      });
    }
    throw UsageError.from('refused' in answer ? answer.refused : { code: '', message: '' });
  },
  format: (functions) =>
    `${table(
      ['function', 'trigger', 'on'],
      functions.map(({ name, type, binding }) => [name, type, onWhat(binding)]),
    )}\n${plural(functions.length, 'function')}`,
});

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
