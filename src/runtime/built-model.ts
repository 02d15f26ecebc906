import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Model } from '../model/model.ts';

/** Beside a built pipeline: what reading its document came to, and of which files that was. */
export const BUILT_FILE = 'pipeline.built.json';

/** Stands for the document's path, which differs from machine to machine. */
const DOCUMENT = '@document';

const built = z.object({
  /** SHA-256 of the document, and of the pipeline it was held against. */
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
 * The model as a build has read and checked it; undefined where there is none, or where document or pipeline have
 * changed since. Reading a large document takes longer than all else of a cold start.
 */
export async function readBuilt({ folder, modelFile, pipelineFile }: Files): Promise<Model | undefined> {
  const revive = (_: string, value: unknown): unknown => (value === DOCUMENT ? modelFile : value);
  let value: unknown;
  try {
    value = JSON.parse(await readFile(join(folder, BUILT_FILE), 'utf8'), revive);
  } catch {
    // Nobody built it, or not to its end: the document is read.
    return undefined;
  }
  const parsed = built.safeParse(value);
  if (!parsed.success) return undefined;
  const { document, pipeline, model } = parsed.data;
  const current = await Promise.all([digestOf(modelFile), digestOf(pipelineFile)]);
  return current[0] === document && current[1] === pipeline ? model : undefined;
}

/** Writes it for a pipeline that was loaded, and so is right. */
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
