import { z } from 'zod';
import { defineOperation, partsOf } from '../operation.ts';
import { openTogether } from './open-together.ts';
import { type Rehydration, look, rehydrationText } from './rehydrate.operation.ts';
import { jobsOf } from './rehydrations.ts';

export const archiveRehydrations = defineOperation({
  shards: 'itself',
  noun: 'archive',
  verb: 'rehydrations',
  summary: 'List the rehydrations of the last 90 days, and how far each is',
  examples: ['millrace archive rehydrations', 'millrace archive rehydrations --json'],
  effect: 'reads',
  input: z.object({}),
  run: async (_, context): Promise<Rehydration[]> => {
    const { signal, screen } = context;
    const parts = await partsOf(context);
    const opened = await openTogether(parts, { signal, screen });
    const results: Rehydration[] = [];
    for (const job of await jobsOf(parts.services.global.state, signal)) {
      const found = opened.find(({ archive }) => archive.spec.name === job.archive);
      if (found) results.push({ ...job, ...(await look(found.archive, job, context)) });
    }
    return results;
  },
  format: (results) =>
    results.length === 0
      ? 'No rehydration was begun in the last 90 days.'
      : results.map((of) => `${of.at.slice(0, 19)}Z  ${rehydrationText(of)}`).join('\n'),
});
