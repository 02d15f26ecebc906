import { readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runtimeError } from '../../runtime/errors.ts';
import { operationsError } from '../../procedures/errors.ts';
import { messageOf } from '../../base/errors.ts';
import { digest, isObject } from '../../base/json.ts';
import { sourceExamples } from '../../pipeline/declaration.ts';
import { textsOf } from './input-file.ts';
import { REJECTS } from './rejects.ts';
import { parseDate } from '../../pipeline/date.ts';
import type { SourceRef } from '../../pipeline/specs.ts';
import type { LoadedPipeline } from '../../runtime/workspace.ts';
import type { EventStep, Load, Step } from '../../pipeline/workload.ts';

/** One piece of input. `at` counts from 1: the line of a file or the element of its array, the step of a workload. */
export interface InputItem {
  readonly at: number;
  /** The original text, for the rejects file. */
  readonly text: () => string;
  /** The step, or as a text the reason why the item is not a valid one. */
  readonly step: Step | EventStep | string;
}

export interface Input {
  /** For people: `flights`, `orders.jsonl`. */
  readonly name: string;
  /** Differs between inputs, so that the marker of one is never used for another. */
  readonly identity: Readonly<Record<string, unknown>>;
  /** The time, in milliseconds, at which the archive's rules are evaluated; absent: the current time. */
  readonly now?: number;
  /** How much of it `items` has read, 0 to 1. Absent: it isn't known how much there is. */
  readonly share?: () => number;
  items(): AsyncIterable<InputItem>;
}

/** The steps that a pipeline's `input.ts` or `workload.ts` yields; undefined if its folder has neither. */
export async function workloadInput(folder: string, seed: number): Promise<Input | undefined> {
  for (const name of ['input', 'workload']) {
    for (const extension of ['ts', 'js']) {
      const file = join(folder, `${name}.${extension}`);
      if (!(await exists(file))) continue;
      const { load, now } = await loadModule(file);
      return {
        name: `${folder.split(/[\\/]/).at(-1)}/${name}`,
        identity: { workload: name, seed },
        ...(now === undefined ? {} : { now }),
        async *items() {
          let at = 0;
          for await (const step of load({ seed })) yield { at: ++at, text: () => JSON.stringify(step), step };
        },
      };
    }
  }
  return undefined;
}

/** The model's examples of what the pipeline reads; undefined if it has none. */
export function examplesInput({ pipeline, model }: LoadedPipeline): Input | undefined {
  const steps = sourceExamples(pipeline, model).flatMap(({ container, examples }) =>
    examples.flatMap((doc) =>
      typeof doc['id'] === 'string' ? [{ container, upsert: { ...doc, id: doc['id'] } }] : [],
    ),
  );
  if (steps.length === 0) return undefined;
  return {
    name: 'the examples of the model',
    identity: { examples: digest(steps) },
    async *items() {
      for (const [index, step] of steps.entries()) yield { at: index + 1, text: () => JSON.stringify(step), step };
    },
  };
}

/** What is in a folder of documents. */
const DOCUMENTS = /\.(jsonl?|ndjson)(\.gz)?$/i;

/**
 * Files of documents, each an input of its own: then one that is added is loaded, and the others are not. Of a folder they
 * are its files, in the order of their names. `types`: that of all documents, or one for each path.
 */
export async function fileInputs(paths: readonly string[], types: readonly SourceRef[]): Promise<Input[]> {
  const files: { readonly file: string; readonly into: SourceRef }[] = [];
  for (const [at, path] of paths.entries()) {
    const folder = (await stat(path).catch(() => undefined))?.isDirectory() ? await readdir(path) : undefined;
    const found = folder?.filter((name) => DOCUMENTS.test(name) && !name.endsWith(REJECTS)).toSorted();
    if (found?.length === 0)
      throw operationsError('input-invalid', `The folder ${path} has no file of documents`, {
        hint: 'Their names end with .jsonl, .ndjson or .json, or with .gz after that.',
      });
    const into = types[at] ?? types[0]!;
    files.push(...(found?.map((name) => join(path, name)) ?? [path]).map((file) => ({ file, into })));
  }
  const names = files.map(({ file }) => basename(file));
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined)
    throw operationsError('input-invalid', `Two files of --input are named ${twice}`, {
      hint: 'Rename one: what is rejected goes into a file with the name of the input.',
    });
  return Promise.all(files.map(({ file, into }) => fileInput(file, into)));
}

/** Documents of one type: lines of JSON, or one JSON array, also packed by gzip. A document without `type` gets it. */
export async function fileInput(file: string, into: SourceRef): Promise<Input> {
  const path = resolve(file);
  if (!(await exists(path))) {
    throw operationsError('input-invalid', `There is no file ${file}`, {
      hint: 'Give `--input` the path of a file with one JSON document a line, or one JSON array.',
    });
  }
  const { size } = await stat(path);
  let read = 0;
  return {
    name: file,
    identity: { file: path, ...into },
    share: () => (size === 0 ? 1 : Math.min(1, read / size)),
    async *items() {
      let at = 0;
      for await (const { text, broken } of textsOf(path, (bytes) => (read = bytes))) {
        at += 1;
        // Editors write blank lines, which are no error.
        if (text.trim() !== '' || broken !== undefined)
          yield { at, text: () => text, step: broken ?? parseDocument(text, into) };
      }
    },
  };
}

function parseDocument(text: string, { container, type }: SourceRef): Step | string {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    return `it is not valid JSON: ${messageOf(error)}`;
  }
  if (!isObject(document)) return 'it is a JSON value, but not an object';
  if (document['type'] !== undefined && document['type'] !== type) {
    return `its type is ${JSON.stringify(document['type'])}, not "${type}"`;
  }
  const { id } = document;
  if (typeof id !== 'string') return id === undefined ? 'it has no id' : 'its id is not a string';
  return { container, upsert: { ...document, id, type } };
}

interface Loadable {
  readonly load: Load;
  readonly now: number | undefined;
}

async function loadModule(file: string): Promise<Loadable> {
  let module: { load?: unknown; now?: unknown };
  try {
    module = (await import(pathToFileURL(file).href)) as typeof module;
  } catch (error) {
    throw runtimeError('unloadable', `${file} can't be loaded: ${messageOf(error)}`, {
      cause: error,
      hint: isMissingPackage(error)
        ? 'Install the package that it imports. In a checkout, `npm install` installs those of the examples.'
        : 'Run the file with `node` to see where it fails.',
    });
  }
  if (typeof module.load !== 'function') {
    throw runtimeError('unloadable', `${file} exports no function \`load\``, {
      hint: 'Export `async function* load({ seed })` that yields steps.',
    });
  }
  const now = module.now === undefined ? undefined : parseDate(module.now);
  if (module.now !== undefined && now === undefined) {
    throw runtimeError('unloadable', `${file} exports a \`now\` that is not a date`, {
      hint: "Write `export const now = '2026-06-03T00:00:00Z'`, or leave it out.",
    });
  }
  return { load: module.load as Load, now };
}

const isMissingPackage = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
