import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Model } from '../../model/model.ts';

/** A file beside a built pipeline, with the model of its document and the digests of both files. */
export const BUILT_FILE = 'pipeline.built.json';

/** Stands for the document's path, which is different on each machine. */
const DOCUMENT = '@document';

const built = z.object({
  /** SHA-256 of the document, and of the pipeline that it was checked with. */
  document: z.string(),
  pipeline: z.string(),
  model: z.custom<Model>((value) => typeof value === 'object' && value !== null),
});

interface Files {
  readonly folder: string;
  readonly modelFile: string;
  readonly pipelineFile: string | undefined;
}

/**
 * The model that a build has read and checked. Undefined if there is no build, or if document or pipeline have changed
 * since. Reading a large document takes longer than the rest of a cold start.
 */
export async function readBuilt({ folder, modelFile, pipelineFile }: Files): Promise<Model | undefined> {
  const revive = (_: string, value: unknown): unknown => (value === DOCUMENT ? modelFile : value);
  let value: unknown;
  try {
    value = JSON.parse(await readFile(join(folder, BUILT_FILE), 'utf8'), revive);
  } catch {
    // No build, or an unfinished one: the caller reads the document.
    return undefined;
  }
  const parsed = built.safeParse(value);
  if (!parsed.success) return undefined;
  const { document, pipeline, model } = parsed.data;
  const current = await Promise.all([digestOf(modelFile), digestOf(pipelineFile)]);
  return current[0] === document && current[1] === pipeline ? model : undefined;
}

/** Writes the file for a pipeline that was loaded and checked. */
export async function writeBuilt({ folder, modelFile, pipelineFile }: Files, model: Model): Promise<string> {
  const [document, pipeline] = await Promise.all([digestOf(modelFile), digestOf(pipelineFile)]);
  const place = (_: string, value: unknown): unknown => (value === modelFile ? DOCUMENT : value);
  const file = join(folder, BUILT_FILE);
  await writeFile(file, `${JSON.stringify({ document, pipeline, model }, place)}\n`);
  return file;
}

const digestOf = async (file: string | undefined): Promise<string> =>
  createHash('sha256')
    .update(file === undefined ? '' : await readFile(file))
    .digest('hex');
