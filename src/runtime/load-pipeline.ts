import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { UsageError, messageOf } from '../base/errors.ts';
import { isObject } from '../base/json.ts';
import type { Pipeline } from '../definition/specs.ts';
import { modelPath } from '../definition/model-ref.ts';
import type { Model } from '../model/model.ts';
import type { DeclaredPipeline, LoadedPipeline } from './workspace.ts';
import { readBuilt } from './built-model.ts';

/**
 * Loads the `pipeline.ts` (or `.js`) of a folder and the data-model document it names, and holds one against the other.
 * @throws UsageError for whatever is missing, unreadable or doesn't fit, with all errors found
 */
export async function loadPipeline(folder: string): Promise<LoadedPipeline> {
  const pipeline = await importPipeline(folder);
  const modelFile = modelPath(pipeline, folder);
  const built = await readBuilt({ folder, modelFile, pipelineFile: pipelineFile(folder) });
  if (built) return { folder, pipeline, modelFile, model: built };
  const model = await loadModel(modelFile);
  // Readers and rules are imported where they are used: a function app that was built starts without them.
  const { checkPipeline } = await import('../definition/check/check-pipeline.ts');
  const errors = checkPipeline(pipeline, model).filter(({ severity }) => severity === 'error');
  refuse('pipeline-wrong', `The pipeline in ${folder} does not fit its model`, errors);
  await holdContract(folder, modelFile);
  return { folder, pipeline, modelFile, model };
}

/** What makes a projection write something else than the document says; loads and costs are `model check`'s. */
const HELD: ReadonlySet<string> = new Set(['G1', 'G2', 'G5', 'G6', 'G7', 'G9', 'G11']);

/** The document's own section of projections is a promise: where it is, the code keeps it, or nothing starts. */
async function holdContract(folder: string, modelFile: string): Promise<void> {
  const { readDesign } = await import('../model/reader/design.ts');
  const design = await readDesign(modelFile);
  const declared = design.projectionsAt && (await declaredPipeline(folder));
  if (!declared || 'unloadable' in declared) return;
  const { contractRules } = await import('../contract/contract-rules.ts');
  const { checkDocuments } = await import('../model/rules/index.ts');
  const rules = contractRules(declared.pipeline, declared.source).filter(({ id }) => HELD.has(id));
  const errors = checkDocuments({ requirements: undefined, design }, rules)
    .findings.filter(({ severity }) => severity === 'error')
    .map(({ rule, message, at, mend }) => ({
      message: `${rule}, ${relative(folder, at.file)}:${at.line}: ${message}`,
      ...(mend !== undefined && { mend }),
    }));
  refuse('pipeline-wrong', `The pipeline in ${folder} is not what its model says`, errors);
}

/** @throws UsageError where there is no such document, or where it has errors */
export async function loadModel(file: string): Promise<Model> {
  const { readModel } = await import('../model/reader/read.ts');
  const model = await readModel(file);
  const errors = model.findings.filter(({ severity }) => severity === 'error');
  refuse(
    'model-wrong',
    `The data-model document ${file} can't be used`,
    errors.map(({ message, at, ...finding }) => ({ ...finding, message: `line ${at.line}: ${message}` })),
  );
  return model;
}

/** The file that declares a folder's pipeline; undefined where there is none. */
export const pipelineFile = (folder: string): string | undefined =>
  ['pipeline.ts', 'pipeline.js'].map((name) => join(folder, name)).find((path) => existsSync(path));

/** The pipeline as it is declared, held against nothing, or why it can't be loaded; undefined where the folder has none. */
export async function declaredPipeline(folder: string): Promise<DeclaredPipeline | undefined> {
  const file = pipelineFile(folder);
  if (file === undefined) return undefined;
  const source = { file, text: await readFile(file, 'utf8') };
  try {
    return { source, pipeline: await importPipeline(folder) };
  } catch (error) {
    if (error instanceof UsageError) return { source, unloadable: error };
    throw error;
  }
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
