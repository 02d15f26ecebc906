import { stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { flag, optional } from '../flags.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { BY_HAND, EXAMPLES_FILE, MODEL_CODE, writeExamples, writeModel } from '../../model/code/write.ts';
import { draft } from '../../model/draft.ts';
import { writeText } from '../write-text.ts';
import type { Context, Plan } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { liveContainers, sample } from '../../procedures/apply/live.ts';

const input = z.object({
  directory: optional('folder for the files; it is created (default: the pipeline folder)'),
  sample: z.number().int().min(1).max(10_000).default(100).describe('newest documents to read of each container'),
  values: flag('keep the values of the examples; without it, each text and number is replaced by one of the same form'),
  overwrite: flag('replace existing files'),
});

export const modelImport = defineOperation({
  name: 'model import',
  summary: `Write ${MODEL_CODE} and ${EXAMPLES_FILE}, the model as code, from the containers and documents of an account`,
  examples: ['millrace model import --env production', 'millrace model import pipeline --sample 1000 --dry-run'],
  effect: 'changes',
  argument: 'directory',
  input,
  plan: async (asked, context): Promise<Plan> => {
    const files = await place(asked, context);
    const containers = await liveContainers(await context.workspace.services(), context.signal);
    return {
      steps: [
        `read up to ${asked.sample} documents of each of ${plural(containers.length, 'container')}: ${containers.map(({ id }) => id).join(', ')}`,
        ...files.map((file) => `write ${relative(context.workspace.directory, file)}`),
      ],
      ru: containers.length * asked.sample,
    };
  },
  run: async (asked, context) => {
    const { workspace, signal, screen } = context;
    const files = await place(asked, context);
    const services = await workspace.services();
    const { database } = services.place;
    const definitions = await liveContainers(services, signal);
    if (definitions.length === 0)
      throw sharedError('missing', `Database ${database.id} has no containers`, {
        hint: 'Name another database with the setting `COSMOS_DATABASE`.',
      });
    const imported = [];
    for (const [at, definition] of definitions.entries()) {
      screen.progress(`containers, now ${definition.id}`, at, definitions.length);
      const container = database.container(definition.id);
      imported.push({
        definition,
        samples: await sample(container, definition, { count: asked.sample, types: [], signal }),
      });
    }
    const { model, containers, leases } = draft(imported, MODEL_CODE, asked);
    const first = `${BY_HAND} from now on: this file is the truth. \`millrace model import\` made it from database ${JSON.stringify(database.id)}`;
    for (const [at, text] of [writeModel(model, first), writeExamples(model)].entries())
      await writeText(files[at] ?? '', text);
    return {
      files: files.map((file) => relative(workspace.directory, file)),
      containers: containers.map(({ definition, samples, types, discriminator }) => ({
        name: definition.id,
        sampled: samples.length,
        types: [...types.keys()],
        ...(discriminator !== undefined && { discriminator }),
      })),
      leases,
    };
  },
  format: ({ files, containers, leases }) =>
    [
      ...containers.map(
        ({ name, sampled, types }) =>
          `${name}: ${plural(sampled, 'document')} sampled${sampled > 0 ? `, ${plural(types.length, 'type')}: ${types.join(', ')}` : ''}`,
      ),
      ...leases.map((name) => `${name}: left out; it has leases of a change feed`),
      `${files.join(' and ')} written. Correct what the sample doesn't show, and write pipeline.ts beside them.`,
      ...sourcesText(containers),
    ].join('\n'),
});

interface Imported {
  readonly name: string;
  readonly types: readonly string[];
  readonly discriminator?: string | undefined;
}

const member = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `['${name}']`);

/** What a pipeline has to state where the field `type` doesn't tell a type. */
function sourcesText(containers: readonly Imported[]): readonly string[] {
  const lines = containers
    .filter(({ discriminator }) => discriminator !== 'type')
    .flatMap(({ name, types, discriminator }) =>
      types.map(
        (type) =>
          `    source({ of: m${member(name)}${member(type)}, discriminator: ${discriminator === undefined ? '() => true' : `'${discriminator}'`} }),`,
      ),
    );
  return lines.length === 0
    ? []
    : ['In pipeline.ts, state how the types that it reads are recognised:', '  sources: [', ...lines, '  ],'];
}

/** The two files. @throws UsageError `exists` */
async function place(
  { directory, overwrite }: z.output<typeof input>,
  { workspace }: Context,
): Promise<readonly string[]> {
  const folder = directory === undefined ? workspace.folder : resolve(workspace.directory, directory);
  const files = [MODEL_CODE, EXAMPLES_FILE].map((name) => join(folder, name));
  for (const file of overwrite ? [] : files)
    if (await stat(file).catch(() => undefined))
      throw sharedError('exists', `${relative(workspace.directory, file)} already exists`, {
        hint: 'Name another folder, or add `--overwrite`. `millrace model check --env NAME` compares the model with the account.',
      });
  return files;
}
