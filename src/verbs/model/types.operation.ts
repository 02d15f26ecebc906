import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { z } from 'zod';
import { generateTypes } from '../../model/types/generate.ts';
import { writeText } from '../write-text.ts';
import { defineOperation } from '../operation.ts';
import { pipelineDirectory } from './settings.ts';

export const modelTypes = defineOperation({
  noun: 'model',
  verb: 'types',
  summary: 'Write model.types.ts, the TypeScript types of the model’s documents',
  examples: ['millrace model types', 'millrace model types examples/flights --check'],
  effect: 'changes',
  argument: 'directory',
  input: z.object({
    directory: pipelineDirectory,
    check: z.boolean().default(false).describe('write nothing; exit code 1 if the file is stale'),
  }),
  run: async ({ directory, check }, { workspace }) => {
    const of = workspace.at(directory);
    const file = join(of.folder, 'model.types.ts');
    const wanted = generateTypes(await of.model());
    const stale = (await readFile(file, 'utf8').catch(() => '')) !== wanted;
    if (stale && !check) await writeText(file, wanted);
    return { file: relative('.', file), stale, written: stale && !check };
  },
  format: ({ file, stale, written }) =>
    written ? `${file} written.` : stale ? `${file} is stale: run \`millrace model types\`.` : `${file} is up to date.`,
  ok: ({ stale, written }) => written || !stale,
});
