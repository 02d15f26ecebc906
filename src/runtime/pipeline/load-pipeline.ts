import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ErrorDetail, UsageError, messageOf } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { Pipeline } from '../../pipeline/specs.ts';
import { checkPipeline } from '../../pipeline/check/check-pipeline.ts';
import type { ModelCode } from '../../model/code/define-model.ts';
import { type CodeExamples, toModel } from '../../model/code/to-model.ts';
import { MODEL_CODE } from '../../model/code/write.ts';
import type { Model } from '../../model/model.ts';
import type { DeclaredPipeline, LoadedPipeline } from '../workspace.ts';
import { placeIn } from './code-frame.ts';
import { type Importer, importOnce } from './fresh-import.ts';
import { runtimeError } from '../errors.ts';
import { sharedError } from '../../base/shared-errors.ts';

/**
 * Loads the `pipeline.ts` (or `.js`) of a folder with its model, and checks one with the other. It reads no document.
 * @throws UsageError if a file is missing, unreadable or wrong, or if they don't match; it lists all errors
 */
export async function loadPipeline(folder: string, importer: Importer = importOnce): Promise<LoadedPipeline> {
  const pipeline = await importPipeline(folder, importer);
  const model = await modelOf(pipeline, folder);
  const errors = checkPipeline(pipeline, model).filter(({ severity }) => severity === 'error');
  refuse(pipelineWrong, `The pipeline in ${folder} does not match its model`, errors);
  return { folder, pipeline, model };
}

/** The model that a pipeline declares, with its examples. @throws UsageError `model-wrong` */
export async function modelOf({ model }: Pick<Pipeline, 'model'>, folder: string): Promise<Model> {
  const { examples } = model;
  return toModel(
    model,
    join(folder, MODEL_CODE),
    examples === undefined ? {} : await readExamples(model, examples, folder),
  );
}

async function readExamples({ containers }: ModelCode, stated: string | URL, folder: string): Promise<CodeExamples> {
  const file = stated instanceof URL ? fileURLToPath(stated) : resolve(folder, stated);
  const wrong = (why: string, cause?: unknown): Error =>
    sharedError('model-wrong', `The examples in ${file} can't be used: ${why}`, {
      hint: 'Run `npx millrace model types`, or remove `examples` from model.ts.',
      cause,
    });
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, 'utf8'));
  } catch (cause) {
    throw wrong(messageOf(cause), cause);
  }
  if (!isExamples(value)) throw wrong('they are not lists of objects, by container and type');
  const types = Object.entries(value).flatMap(([name, of]) => Object.keys(of).map((type) => [name, type] as const));
  const unknown = types.find(([name, type]) => !Object.hasOwn(containers[name]?.types ?? {}, type));
  if (unknown) throw wrong(`model.ts has no ${unknown.join('/')}`);
  return value;
}

const isExamples = (value: unknown): value is CodeExamples =>
  isObject(value) &&
  Object.values(value).every(
    (types) =>
      isObject(types) && Object.values(types).every((examples) => Array.isArray(examples) && examples.every(isObject)),
  );

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
  const modelFile = join(folder, MODEL_CODE);
  const modelText = await readFile(modelFile, 'utf8').catch(() => undefined);
  const source = {
    file,
    text: await readFile(file, 'utf8'),
    ...(modelText !== undefined && { model: { file: modelFile, text: modelText } }),
  };
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

const isPipeline = (value: unknown): value is Pipeline =>
  isObject(value) &&
  Array.isArray(value['projections']) &&
  Array.isArray(value['findings']) &&
  isObject(value['model']);

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
