import { rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { z } from 'zod';
import { pipelineDirectory } from './settings.ts';
import { defineOperation } from '../operation.ts';
import { BUILT_FILE, writeBuilt } from '../../runtime/pipeline/built-model.ts';
import { pipelineFile } from '../../runtime/pipeline/load-pipeline.ts';

export const modelBuild = defineOperation({
  noun: 'model',
  verb: 'build',
  summary: 'Write the checked model beside a built pipeline, so that a cold start need not read the document',
  examples: ['millrace model build dist/pipeline'],
  effect: 'changes',
  argument: 'directory',
  // It reads the document, and no place.
  shards: 'itself',
  input: z.object({ directory: pipelineDirectory }),
  plan: async ({ directory }, { workspace }) => ({
    steps: [`write ${relative('.', join(workspace.at(directory).folder, BUILT_FILE))}`],
    ru: 0,
  }),
  run: async ({ directory }, { workspace }) => {
    const of = workspace.at(directory);
    const { folder } = of;
    // Removed first: loading must read the document, not the result of an earlier build.
    await rm(join(folder, BUILT_FILE), { force: true });
    const { modelFile, model } = await of.pipeline();
    return { file: relative('.', await writeBuilt({ folder, modelFile, pipelineFile: pipelineFile(folder) }, model)) };
  },
  format: ({ file }) => `${file} written.`,
});
