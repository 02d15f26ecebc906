import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { z } from 'zod';
import { withProjections } from '../../contract/section.ts';
import { writeText } from '../write-text.ts';
import { defineOperation } from '../operation.ts';
import { ruleFlags } from './settings.ts';
import { readPair } from './pair.ts';
import { operationsError } from '../errors.ts';
import { runtimeError } from '../../runtime/errors.ts';

export const modelFormat = defineOperation({
  noun: 'model',
  verb: 'format',
  summary: 'Write the section "Change Feed Projections" of the data model from the pipeline',
  examples: ['millrace model format --projections', 'millrace model format --projections --check'],
  effect: 'changes',
  argument: 'directory',
  input: z.object({
    directory: ruleFlags.directory,
    projections: z.boolean().default(false).describe('write or refresh the section "Change Feed Projections"'),
    check: z.boolean().default(false).describe('write nothing; exit code 1 if the section is stale'),
  }),
  run: async ({ directory, projections, check }, { workspace }) => {
    if (!projections) throw operationsError('nothing-to-format', 'No flag says what to format');
    const { documents, pipeline, unloadable } = await readPair(workspace, directory);
    if (unloadable) throw unloadable;
    const { design } = documents;
    if (!pipeline || !design) {
      const lacking = pipeline ? 'cosmosdb_data_model.md' : 'pipeline.ts';
      throw runtimeError(
        'pipeline-missing',
        `There is no ${lacking}: the section is written from the pipeline into the data model`,
        { hint: 'Name the folder that holds both.' },
      );
    }
    const before = await readFile(design.file, 'utf8');
    const after = withProjections(before, design, pipeline);
    const stale = after !== before;
    if (stale && !check) await writeText(design.file, after, { code: 'model-unwritable' });
    return { file: relative(workspace.directory, design.file), stale, written: stale && !check };
  },
  format: ({ file, stale, written }) =>
    written
      ? `${file}: the section is written.`
      : stale
        ? `${file}: the section is stale; run \`millrace model format --projections\`.`
        : `${file}: the section is up to date.`,
  ok: ({ stale, written }) => written || !stale,
});
