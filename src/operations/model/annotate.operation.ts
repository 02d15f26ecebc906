import { basename } from 'node:path';
import { z } from 'zod';
import { annotationsJsonSchema, instructions } from '../../model/annotations/instructions.ts';
import { plainLines, readDocument } from '../../model/reader/source.ts';
import { defineOperation } from '../operation.ts';
import { annotationsPath } from './annotations.ts';
import { pathsOf, shortPath } from './pair.ts';
import { pipelineDirectory } from './settings.ts';

export const modelAnnotate = defineOperation({
  noun: 'model',
  verb: 'annotate',
  summary: 'Print what an assistant or a person needs to annotate a data model, so that model check understands it',
  examples: [
    'millrace model annotate docs/cosmos-design.md > annotate.md',
    'millrace model annotate examples/flights',
    'millrace model annotate --schema',
  ],
  effect: 'reads',
  argument: 'directory',
  input: z.object({
    directory: pipelineDirectory,
    schema: z.boolean().default(false).describe('print the JSON Schema of annotations; no document is read'),
  }),
  run: async ({ directory, schema }, { workspace }): Promise<{ text: string; file?: string }> => {
    if (schema) return { text: JSON.stringify(annotationsJsonSchema(), null, 2) };
    const { design } = await pathsOf(workspace, directory);
    const lines = plainLines(await readDocument(design)).split('\n');
    const file = shortPath(workspace.directory, annotationsPath(design));
    return { file, text: instructions(basename(design), file, lines) };
  },
  format: ({ text }) => text,
});
