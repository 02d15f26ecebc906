import { appendFileSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { BUILT_FILE, readBuilt, writeBuilt } from '../../../src/runtime/pipeline/built-model.ts';
import { loadPipeline, pipelineFile } from '../../../src/runtime/pipeline/load-pipeline.ts';
import { SHOP } from '../../support/stage.ts';

let folder: string;
beforeEach(() => {
  // Beside the original, so that it finds the package that it imports.
  folder = mkdtempSync(join(SHOP, '../built-'));
  for (const file of ['pipeline.ts', 'model.types.ts', 'cosmosdb_data_model.md'])
    cpSync(join(SHOP, file), join(folder, file));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

it('the built model gives the same model as the document, wherever the folder lies by then', async () => {
  const { model, modelFile } = await loadPipeline(folder);
  await writeBuilt({ folder, modelFile, pipelineFile: pipelineFile(folder) }, model);
  expect(readFileSync(join(folder, BUILT_FILE), 'utf8')).not.toContain(folder);
  const moved = `${folder}-moved`;
  cpSync(folder, moved, { recursive: true });
  try {
    const file = join(moved, 'cosmosdb_data_model.md');
    const found = await readBuilt({ folder: moved, modelFile: file, pipelineFile: pipelineFile(moved) });
    expect(JSON.stringify(found)).toBe(JSON.stringify(model).replaceAll(folder, moved));
  } finally {
    rmSync(moved, { recursive: true });
  }
});

it.each(['cosmosdb_data_model.md', 'pipeline.ts'])(
  'the built model counts no more once %s has changed',
  async (changed) => {
    const { model, modelFile } = await loadPipeline(folder);
    const files = { folder, modelFile, pipelineFile: pipelineFile(folder) };
    await writeBuilt(files, model);
    expect(await readBuilt(files)).toBeDefined();
    appendFileSync(join(folder, changed), '\n');
    expect(await readBuilt(files)).toBeUndefined();
  },
);

it('a host makes do without the built model where it is absent, or of another document', async () => {
  const files = { folder, modelFile: join(folder, 'cosmosdb_data_model.md'), pipelineFile: pipelineFile(folder) };
  expect(existsSync(join(folder, BUILT_FILE))).toBe(false);
  expect(await readBuilt(files)).toBeUndefined();
  writeFileSync(join(folder, BUILT_FILE), '{"document":1}');
  expect(await readBuilt(files)).toBeUndefined();
  writeFileSync(join(folder, BUILT_FILE), '{torn');
  expect(await readBuilt(files)).toBeUndefined();
});
