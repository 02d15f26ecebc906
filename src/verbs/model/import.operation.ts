import { readFile, stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { sharedError } from '../../base/shared-errors.ts';
import { type UsageError, messageOf } from '../../base/errors.ts';
import { type DraftLoad, draft } from '../../model/draft.ts';
import { writeText } from '../write-text.ts';
import type { Context, Plan } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { suggestion } from '../../base/near.ts';
import { plural } from '../../procedures/table.ts';
import { liveContainers, sample } from '../../procedures/apply/live.ts';
import { DESIGN_FILE, REQUIREMENTS } from './pair.ts';
import { METRICS_FORM } from '../../procedures/errors.ts';

const peaks = z
  .strictObject({ peak: z.number().nonnegative(), average: z.number().nonnegative().optional() })
  .optional();
const metricsSchema = z.record(z.string(), z.strictObject({ reads: peaks, writes: peaks }));

const input = z.object({
  directory: z.string().optional().describe('folder for the two documents (default: the working directory)'),
  sample: z.number().int().min(1).max(10_000).default(100).describe('newest documents to read of each container'),
  redact: z.boolean().default(false).describe('replace every string of the examples except `type`'),
  metrics: z
    .string()
    .optional()
    .describe(
      'JSON file with requests a second: {"Orders": {"reads": {"peak": 90, "average": 12}, "writes": {"peak": 20}}}',
    ),
  overwrite: z.boolean().default(false).describe('replace existing documents'),
});
type Input = z.output<typeof input>;

export const modelImport = defineOperation({
  noun: 'model',
  verb: 'import',
  summary:
    'Draft the two modelling documents from the account: containers, keys, policies, shapes of sampled documents',
  examples: [
    'millrace model import pipeline --env production --redact',
    'millrace model import --metrics rps.json --dry-run',
  ],
  effect: 'changes',
  argument: 'directory',
  input,
  plan: async (asked, context): Promise<Plan> => {
    const { files } = await place(asked, context);
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
    const { files } = await place(asked, context);
    const services = await workspace.services();
    const definitions = await liveContainers(services, signal);
    if (definitions.length === 0)
      throw sharedError('missing', `Database ${services.place.database.id} has no containers`, {
        hint: 'Name another database with the setting `COSMOS_DATABASE`.',
      });
    const names = definitions.map(({ id }) => id);
    const metrics = await readMetrics(asked.metrics, names, workspace.directory);
    const containers = [];
    for (const [at, definition] of definitions.entries()) {
      screen.progress(`containers, now ${definition.id}`, at, definitions.length);
      const container = services.place.database.container(definition.id);
      const samples = await sample(container, definition, { count: asked.sample, types: [], signal });
      containers.push({ definition, samples, load: metrics[definition.id] });
    }
    const { requirements, design } = draft(containers, { name: services.place.database.id, redact: asked.redact });
    for (const [at, text] of [requirements, design].entries())
      await writeText(files[at] ?? '', text, asked.overwrite ? 'w' : 'wx');
    return {
      files: files.map((file) => relative(workspace.directory, file)),
      containers: containers.map(({ definition, samples }) => ({ name: definition.id, sampled: samples.length })),
    };
  },
  format: ({ files, containers }) =>
    [
      ...containers.map(({ name, sampled }) => `${name}: ${plural(sampled, 'document')} sampled`),
      `${files.join(' and ')} written. \`millrace model check\` lists the facts that an account does not show.`,
    ].join('\n'),
});

async function place({ directory = '.', overwrite }: Input, { workspace }: Context): Promise<{ files: string[] }> {
  const folder = resolve(workspace.directory, directory);
  const is = await stat(folder).catch(() => undefined);
  if (!is?.isDirectory())
    throw sharedError('missing', `There is no folder ${directory}`, { hint: 'Create it, or name another one.' });
  const files = [REQUIREMENTS, DESIGN_FILE].map((name) => join(folder, name));
  for (const file of overwrite ? [] : files)
    if (await stat(file).catch(() => undefined)) throw exists(relative(workspace.directory, file));
  return { files };
}

const exists = (file: string): UsageError =>
  sharedError('exists', `${file} already exists`, {
    hint: 'Name another folder, or add `--overwrite`. `millrace model check --env NAME` compares the document with the account.',
  });

async function readMetrics(
  file: string | undefined,
  names: readonly string[],
  directory: string,
): Promise<Readonly<Record<string, DraftLoad>>> {
  if (file === undefined) return {};
  const text = await readFile(resolve(directory, file), 'utf8').catch((cause: unknown) => {
    throw sharedError('unreadable', `${file} can't be read: ${messageOf(cause)}`, { hint: METRICS_FORM, cause });
  });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw sharedError('unreadable', `${file} is not JSON: ${messageOf(cause)}`, { hint: METRICS_FORM, cause });
  }
  const parsed = metricsSchema.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw sharedError('unreadable', `${file}, ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is wrong'}`, {
      hint: METRICS_FORM,
    });
  }
  const unknown = Object.keys(parsed.data).find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw sharedError(
      'unreadable',
      `${file} names container ${unknown}, which the account does not have${suggestion(unknown, names)}`,
      { hint: METRICS_FORM },
    );
  return parsed.data;
}
