import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { type ErrorDetail, UsageError, messageOf } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { Pipeline } from '../../pipeline/specs.ts';
import { modelPath } from '../../pipeline/model-ref.ts';
import type { Design } from '../../model/documents.ts';
import type { Model } from '../../model/model.ts';
import type { DeclaredPipeline, LoadedPipeline } from '../workspace.ts';
import { readBuilt } from './built-model.ts';
import { type Importer, importOnce } from './fresh-import.ts';
import { runtimeError } from '../errors.ts';
import { sharedError } from '../../base/shared-errors.ts';

/**
 * Loads the `pipeline.ts` (or `.js`) of a folder and its data-model document, and checks one with the other.
 * @throws UsageError if a file is missing, unreadable or wrong, or if they don't match; it lists all errors
 */
export async function loadPipeline(folder: string, importer: Importer = importOnce): Promise<LoadedPipeline> {
  const pipeline = await importPipeline(folder, importer);
  const modelFile = modelPath(pipeline, folder);
  const built = await readBuilt({ folder, modelFile, pipelineFile: pipelineFile(folder) });
  if (built) return { folder, pipeline, modelFile, model: built };
  // Lazy imports of readers and rules: a built function app starts without them.
  const { readDesign } = await import('../../model/reader/design.ts');
  const design = await readDesign(modelFile);
  const model = usable(design.model);
  const { checkPipeline } = await import('../../pipeline/check/check-pipeline.ts');
  const errors = checkPipeline(pipeline, model).filter(({ severity }) => severity === 'error');
  refuse(pipelineWrong, `The pipeline in ${folder} does not match its data model`, errors);
  await checkContract(folder, design, importer);
  return { folder, pipeline, modelFile, model };
}

/** A violation of these rules makes a projection write other data than the document says. `model check` has the others. */
const ENFORCED: ReadonlySet<string> = new Set(['G1', 'G2', 'G5', 'G6', 'G7', 'G9', 'G11', 'G14']);

/** If the document has a section of projections, the code must match it; else nothing starts. */
async function checkContract(folder: string, design: Design, importer: Importer): Promise<void> {
  const declared = design.projectionsAt && (await declaredPipeline(folder, importer));
  if (!declared || 'unloadable' in declared) return;
  const { contractRules } = await import('../../contract/contract-rules.ts');
  const { checkDocuments } = await import('../../model/rules/index.ts');
  const rules = contractRules(declared.pipeline, declared.source).filter(({ id }) => ENFORCED.has(id));
  const errors = checkDocuments({ requirements: undefined, design }, rules)
    .findings.filter(({ severity }) => severity === 'error')
    .map(({ rule, message, at, hint }) => ({
      message: `${rule}, ${relative(folder, at.file)}:${at.line}: ${message}`,
      ...(hint !== undefined && { hint }),
    }));
  refuse(pipelineWrong, `The pipeline in ${folder} does not match the projections of its data model`, errors);
}

/** @throws UsageError if there is no such document, or if it has errors */
export async function loadModel(file: string): Promise<Model> {
  const { readModel } = await import('../../model/reader/read.ts');
  return usable(await readModel(file));
}

/** The model itself; throws if it has errors. */
function usable(model: Model): Model {
  const errors = model.findings.filter(({ severity }) => severity === 'error');
  refuse(
    (message, detail) => sharedError('model-wrong', message, detail),
    `The data-model document ${model.file} can't be used`,
    errors.map(({ message, at, ...finding }) => ({ ...finding, message: `line ${at.line}: ${message}` })),
  );
  return model;
}

/** The file that declares a folder's pipeline; undefined if there is none. */
export const pipelineFile = (folder: string): string | undefined =>
  ['pipeline.ts', 'pipeline.js'].map((name) => join(folder, name)).find((path) => existsSync(path));

/** The declared pipeline without any check, or the reason why it can't be loaded; undefined if the folder has none. */
export async function declaredPipeline(
  folder: string,
  importer: Importer = importOnce,
): Promise<DeclaredPipeline | undefined> {
  const file = pipelineFile(folder);
  if (file === undefined) return undefined;
  const source = { file, text: await readFile(file, 'utf8') };
  try {
    return { source, pipeline: await importPipeline(folder, importer) };
  } catch (error) {
    if (error instanceof UsageError) return { source, unloadable: error };
    throw error;
  }
}

async function importPipeline(folder: string, importer: Importer): Promise<Pipeline> {
  const file = pipelineFile(folder);
  if (file === undefined) throw runtimeError('pipeline-missing', `There is no pipeline.ts in ${folder}`);
  let module: { default?: unknown };
  try {
    module = (await importer(file)) as { default?: unknown };
  } catch (error) {
    const isMissing = messageOf(error).startsWith('Cannot find package ');
    const place = placeIn(folder, error);
    const where = place ? ` (${relative(folder, place.file)}:${place.line})` : '';
    throw runtimeError('unloadable', `${file} can't be loaded: ${messageOf(error)}${where}`, {
      cause: error,
      ...(isMissing && { hint: 'Run `npm install` in the project, and add the package if package.json lacks it.' }),
    });
  }
  if (isPipeline(module.default)) return module.default;
  throw runtimeError('unloadable', `${file} has no pipeline as its default export`, {
    hint: 'Write `export default definePipeline({ … })`.',
  });
}

/** Where an error comes from: the first line of its stack that is in a file of the folder. Of a syntax error it is its own. */
export function placeIn(folder: string, error: unknown): { readonly file: string; readonly line: number } | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  for (const [, file = '', line] of stack.matchAll(/(?:file:\/\/)?((?:\/|[A-Z]:\\)[^\n:?()]*)(?:\?[^:\n]*)?:(\d+)/g))
    if (file.startsWith(folder) && !file.includes('/node_modules/')) return { file, line: Number(line) };
  return undefined;
}

const isPipeline = (value: unknown): value is Pipeline =>
  isObject(value) && Array.isArray(value['projections']) && Array.isArray(value['findings']) && 'modelFile' in value;

const pipelineWrong = (message: string, detail?: ErrorDetail): UsageError =>
  runtimeError('pipeline-wrong', message, detail);

/** Throws one error with all messages, so that the reader can correct everything in one step. */
function refuse(
  fault: (message: string, detail?: ErrorDetail) => UsageError,
  title: string,
  errors: readonly { message: string; hint?: string }[],
): void {
  const [first] = errors;
  if (!first) return;
  if (errors.length === 1)
    throw fault(`${title}: ${first.message}`, first.hint === undefined ? {} : { hint: first.hint });
  const list = errors.map(({ message, hint }) => `  - ${message}${hint === undefined ? '' : `. ${hint}`}`);
  throw fault(`${title}:\n${list.join('\n')}`);
}
