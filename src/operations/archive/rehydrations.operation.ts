import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { openArchives } from './open.ts';
import { type Rehydration, look, rehydrationText } from './rehydrate.operation.ts';
import { jobsOf } from './rehydrations.ts';

export const archiveRehydrations = defineOperation({
  noun: 'archive',
  verb: 'rehydrations',
  summary: 'List the rehydrations of the last 90 days, and how far each is',
  examples: ['millrace archive rehydrations', 'millrace archive rehydrations --json'],
  effect: 'reads',
  input: z.object({}),
  run: async (_, context): Promise<Rehydration[]> => {
    const { workspace, signal, screen } = context;
    const [loaded, services] = [await workspace.pipeline(), await workspace.services()];
    const archives = await openArchives(loaded, services, { signal, screen });
    const results: Rehydration[] = [];
    for (const job of await jobsOf(services.global.state, signal)) {
      const archive = archives.find(({ spec }) => spec.name === job.archive);
      if (archive) results.push({ ...job, ...(await look(archive, job, context)) });
    }
    return results;
  },
  format: (results) =>
    results.length === 0
      ? 'No rehydration was begun in the last 90 days.'
      : results.map((of) => `${of.at.slice(0, 19)}Z  ${rehydrationText(of)}`).join('\n'),
});
