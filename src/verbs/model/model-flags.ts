import { z } from 'zod';
import { optional } from '../flags.ts';

/** The argument of the verbs about a model; without it they use `--pipeline`. */
export const pipelineDirectory = optional(
  'folder of the two documents, or a Markdown file (default: the pipeline folder)',
);

export const price = z.number().positive().optional().describe('price of 100 RU/s for one hour, in your currency');
