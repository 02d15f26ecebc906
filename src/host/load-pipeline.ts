import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { UsageError, messageOf } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import { checkPipeline } from '../definition/contract.ts';
import type { PipelineSource } from '../definition/contract/declared.ts';
import type { Pipeline } from '../definition/kinds.ts';
import { modelPath } from '../definition/model-ref.ts';
import type { Model } from '../model/model.ts';
import { readModel } from '../model/reader/read.ts';
import type { LoadedPipeline } from '../operations/workspace.ts';

/**
 * Loads the `pipeline.ts` (or `.js`) of a folder and the data-model document it names, and holds one against the other.
 * @throws UsageError for whatever is missing, unreadable or doesn't fit, with all errors found
 */
export async function loadPipeline(folder: string): Promise<LoadedPipeline> {
  const pipeline = await importPipeline(folder);
  const modelFile = modelPath(pipeline, folder);
  const model = await loadModel(modelFile);
  const errors = checkPipeline(pipeline, model).filter(({ severity }) => severity === 'error');
  refuse('pipeline-wrong', `The pipeline in ${folder} does not fit its model`, errors);
  return { folder, pipeline, modelFile, model };
}

/** @throws UsageError where there is no such document, or where it has errors */
export async function loadModel(file: string): Promise<Model> {
  const model = await readModel(file);
  const errors = model.findings.filter(({ severity }) => severity === 'error');
  refuse(
    'model-wrong',
    `The data-model document ${file} can't be used`,
    errors.map(({ message, at, ...finding }) => ({ ...finding, message: `line ${at.line}: ${message}` })),
  );
  return model;
}

const pipelineFile = (folder: string): string | undefined =>
  ['pipeline.ts', 'pipeline.js'].map((name) => join(folder, name)).find((path) => existsSync(path));

/** The pipeline as it is declared, held against nothing, with its text; undefined where the folder has none. */
export async function declaredPipeline(
  folder: string,
): Promise<{ pipeline: Pipeline; source: PipelineSource } | undefined> {
  const file = pipelineFile(folder);
  return file === undefined
    ? undefined
    : { pipeline: await importPipeline(folder), source: { file, text: await readFile(file, 'utf8') } };
}

async function importPipeline(folder: string): Promise<Pipeline> {
  const file = pipelineFile(folder);
  if (file === undefined) {
    throw new UsageError('pipeline-missing', `There is no pipeline.ts in ${folder}`, {
      mend: 'Name the folder by --pipeline, or by "millrace": { "pipeline": "…" } in package.json.',
    });
  }
  let module: { default?: unknown };
  try {
    module = (await import(pathToFileURL(file).href)) as { default?: unknown };
  } catch (error) {
    throw new UsageError('pipeline-unloadable', `${file} can't be loaded: ${messageOf(error)}`, {
      cause: error,
      mend: 'Nothing in it may throw when it is imported; `tsc --noEmit` shows what doesn’t compile.',
    });
  }
  if (isPipeline(module.default)) return module.default;
  throw new UsageError('pipeline-unloadable', `${file} has no pipeline as its default export`, {
    mend: 'Write `export default definePipeline({ … })`.',
  });
}

const isPipeline = (value: unknown): value is Pipeline =>
  isObject(value) && Array.isArray(value['projections']) && Array.isArray(value['findings']) && 'modelFile' in value;

/** One message for all of them: whoever mends a document wants to do it in one go. */
function refuse(code: string, title: string, errors: readonly { message: string; mend?: string }[]): void {
  const [first] = errors;
  if (!first) return;
  if (errors.length === 1)
    throw new UsageError(code, `${title}: ${first.message}`, first.mend === undefined ? {} : { mend: first.mend });
  const list = errors.map(({ message, mend }) => `  - ${message}${mend === undefined ? '' : `. ${mend}`}`);
  throw new UsageError(code, `${title}:\n${list.join('\n')}`);
}
