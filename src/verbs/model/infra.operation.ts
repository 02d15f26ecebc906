import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { flag } from '../flags.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { messageOf } from '../../base/errors.ts';
import { defineOperation } from '../operation.ts';
import { pipelineDirectory } from './model-flags.ts';
import { type OutputFile, factsOf, filesOf } from '../../procedures/apply/infra.ts';

export const modelInfra = defineOperation({
  shards: 'itself',
  name: 'model infra',
  summary: 'Write the files of infra/ that follow from model and pipeline: containers, event hubs, needed parts',
  examples: ['millrace model infra', 'millrace model infra --check --json', 'millrace model infra --out deploy/infra'],
  effect: 'changes',
  argument: 'directory',
  input: z.object({
    directory: pipelineDirectory,
    check: flag('write nothing; exit code 1 if a file is stale'),
    out: z.string().default('infra').describe('folder of main.bicep'),
    leases: z.string().default('leases').describe('name of the lease container (LEASES_CONTAINER)'),
    state: z
      .string()
      .default('millrace')
      .describe('name of the container for Millrace’s own documents (STATE_CONTAINER)'),
  }),
  plan: async ({ directory, out, leases, state }, { workspace }) => {
    const stale = await staleFiles(
      await filesOf(await workspace.at(directory).pipeline(), { leases, state }),
      resolve(workspace.directory, out),
    );
    return { steps: stale.map(({ file }) => `write ${relative('.', file)}`), ru: 0 };
  },
  run: async ({ directory, check, out, leases, state }, { workspace }) => {
    const folder = resolve(workspace.directory, out);
    const loaded = await workspace.at(directory).pipeline();
    const stale = await staleFiles(await filesOf(loaded, { leases, state }), folder);
    if (!check) for (const { file, text } of stale) await write(file, text);
    const infrastructure = factsOf(loaded, { leases, state });
    return { stale: stale.map(({ file }) => relative('.', file)), written: !check, infrastructure };
  },
  format: ({ stale, written }) => {
    if (stale.length === 0) return 'Everything is up to date.';
    return written ? `${stale.join(', ')} written.` : `${stale.join(', ')} is stale: run \`millrace model infra\`.`;
  },
  ok: ({ stale, written }) => written || stale.length === 0,
});

async function staleFiles(files: readonly OutputFile[], folder: string): Promise<OutputFile[]> {
  const placed = files.map(({ file, text }) => ({ file: join(folder, file), text }));
  const current = await Promise.all(placed.map(({ file }) => readFile(file, 'utf8').catch(() => '')));
  return placed.filter(({ text }, at) => current[at] !== text);
}

async function write(file: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  } catch (cause) {
    throw sharedError('unwritable', `${file} can't be written: ${messageOf(cause)}`, {
      cause,
    });
  }
}
