import { basename, join, relative, resolve } from 'node:path';
import { mkdir } from 'node:fs/promises';
import { z } from 'zod';
import { blank } from '../../model/blank.ts';
import { upper } from '../../model/propose/design.ts';
import { existing } from '../existing.ts';
import { operationsError } from '../errors.ts';
import { defineOperation } from '../operation.ts';
import { writeText } from '../write-text.ts';
import { DESIGN, REQUIREMENTS } from './pair.ts';

export const modelNew = defineOperation({
  noun: 'model',
  verb: 'new',
  summary: 'Write both modelling documents as blank forms, with a question for each fact',
  examples: ['millrace model new orders', 'millrace model new orders --name "Order service"'],
  effect: 'changes',
  argument: 'directory',
  input: z.object({
    directory: z.string().default('.').describe('folder for the two documents; it is created if it does not exist'),
    name: z.string().optional().describe('name of the application (default: the name of the folder)'),
  }),
  run: async ({ directory, name }, { workspace }) => {
    const folder = resolve(workspace.directory, directory);
    const { requirements, design } = blank(name ?? upper(basename(folder)));
    const texts = [
      [join(folder, REQUIREMENTS), requirements],
      [join(folder, DESIGN), design],
    ] as const;
    // Neither is written if one of them exists.
    for (const [file] of texts)
      if (await existing(file))
        throw operationsError('model-exists', `${relative(workspace.directory, file)} already exists`, {
          hint: 'Name another folder.',
        });
    await mkdir(folder, { recursive: true });
    for (const [file, text] of texts) await writeText(file, text, { code: 'model-unwritable', flag: 'wx' });
    return { files: texts.map(([file]) => relative(workspace.directory, file)) };
  },
  format: ({ files: [requirements = '', design = ''] }) =>
    `${requirements} and ${design} are written.\nAnswer the questions in brackets, the requirements first. \`millrace model propose\` then writes the data model, and \`millrace model check\` lists what is open.`,
});
