import { basename } from 'node:path';
import { z } from 'zod';
import { flag } from '../flags.ts';
import { reviewInstructions, reviewJsonSchema } from '../../model/review/instructions.ts';
import { defineOperation } from '../operation.ts';
import { pathsOf, shortPath } from './pair.ts';
import { reviewLinesOf, reviewPath } from './review.ts';
import { pipelineDirectory } from './model-flags.ts';

export const modelReview = defineOperation({
  name: 'model review',
  summary: 'Print how an assistant or a person reviews a data model, and the form of the file that model check reports',
  examples: ['millrace model review docs/cosmos-design.md > review.md', 'millrace model review --schema'],
  effect: 'reads',
  argument: 'directory',
  input: z.object({
    directory: pipelineDirectory,
    schema: flag('print the JSON Schema of a review; no document is read'),
  }),
  run: async ({ directory, schema }, { workspace }): Promise<{ text: string; file?: string }> => {
    if (schema) return { text: JSON.stringify(reviewJsonSchema(), null, 2) };
    const { design } = await pathsOf(workspace, directory);
    const file = shortPath(workspace.directory, reviewPath(design));
    return { file, text: reviewInstructions(basename(design), file, await reviewLinesOf(design)) };
  },
  format: ({ text }) => text,
});
