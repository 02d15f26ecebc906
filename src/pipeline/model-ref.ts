import { fileURLToPath } from 'node:url';
import { resolve } from 'node:path';
import type { Pipeline } from './specs.ts';
import { MODEL_FILE, type ModelOf } from './types.ts';

/**
 * Names of the model document's containers and types: `model<Shop>('./cosmosdb_data_model.md').Orders.order`.
 * This reads no file and never throws; `checkPipeline` compares the names with the document.
 * A relative path starts at the pipeline's folder.
 */
export function model<S>(file: string | URL): ModelOf<S>;
export function model(file: string | URL): object {
  return new Proxy(
    {},
    {
      get(_target, container) {
        if (container === MODEL_FILE) return file;
        return typeof container === 'string' ? typesOf(container) : undefined;
      },
    },
  );
}

const typesOf = (container: string): object =>
  new Proxy({}, { get: (_target, type) => (typeof type === 'string' ? { container, type } : undefined) });

/** Path of the pipeline's model document; `folder` is the pipeline's. */
export const modelPath = (pipeline: Pick<Pipeline, 'modelFile'>, folder: string): string =>
  pipeline.modelFile instanceof URL
    ? fileURLToPath(pipeline.modelFile)
    : pipeline.modelFile.startsWith('file:')
      ? fileURLToPath(pipeline.modelFile)
      : resolve(folder, pipeline.modelFile);
