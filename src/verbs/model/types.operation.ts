import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { z } from 'zod';
import { flag } from '../flags.ts';
import { BY_HAND, EXAMPLES_FILE, MODEL_CODE, fromDocument, writeExamples, writeModel } from '../../model/code/write.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { untypedIn } from '../../model/fields.ts';
import { loadModel } from '../../runtime/pipeline/load-pipeline.ts';
import { writeText } from '../write-text.ts';
import { defineOperation } from '../operation.ts';
import { DESIGN_FILE } from './pair.ts';
import { pipelineDirectory } from './model-flags.ts';

export const modelTypes = defineOperation({
  name: 'model types',
  summary: `Write ${MODEL_CODE} and ${EXAMPLES_FILE}, the model as code, from the data-model document`,
  examples: ['millrace model types', 'millrace model types examples/flights --check'],
  effect: 'changes',
  argument: 'directory',
  input: z.object({
    directory: pipelineDirectory,
    check: flag('write nothing; exit code 1 if a file is stale'),
    overwrite: flag(`also replace a ${MODEL_CODE} that is written by hand`),
  }),
  run: async ({ directory, check, overwrite }, { workspace }) => {
    const { folder } = workspace.at(directory);
    const document = join(folder, DESIGN_FILE);
    if (!existsSync(document))
      throw sharedError('missing', `There is no ${DESIGN_FILE} in ${folder}`, {
        hint: `Without one ${MODEL_CODE} is written by hand, or \`millrace model import\` reads it from an account.`,
      });
    const model = await loadModel(document);
    const digest = createHash('sha256')
      .update(await readFile(document))
      .digest('hex');
    const wanted = [
      { file: join(folder, MODEL_CODE), text: writeModel(model, fromDocument(DESIGN_FILE, digest)) },
      { file: join(folder, EXAMPLES_FILE), text: writeExamples(model) },
    ];
    const now = await Promise.all(wanted.map(({ file }) => readFile(file, 'utf8').catch(() => '')));
    if (!overwrite && now[0]?.startsWith(BY_HAND))
      throw sharedError('exists', `${relative('.', join(folder, MODEL_CODE))} is written by hand`, {
        hint: 'Add `--overwrite` to replace it by what the document says. `millrace model check` compares both.',
      });
    const stale = wanted.filter(({ text }, at) => text !== now[at]);
    if (!check) for (const { file, text } of stale) await writeText(file, text);
    const untyped = model.containers.flatMap(({ name, types }) =>
      types.flatMap((type) => untypedIn(type.fields, type.examples, `${name}.${type.name}.`)),
    );
    return { stale: stale.map(({ file }) => relative('.', file)), written: !check, untyped };
  },
  format: ({ stale, written, untyped }) => {
    const is = stale.length === 1 ? 'is' : 'are';
    const done = written ? 'written.' : `${is} stale: run \`millrace model types\`.`;
    const said = stale.length === 0 ? 'Everything is up to date.' : `${stale.join(' and ')} ${done}`;
    if (untyped.length === 0) return said;
    return `${said}\nWithout a type, because no example has a value: ${untyped.join(', ')}. Give an example one.`;
  },
  ok: ({ stale, written }) => written || stale.length === 0,
});
