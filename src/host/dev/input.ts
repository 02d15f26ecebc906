import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { UsageError, messageOf } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { parseDate } from '../../definition/date.ts';
import type { SourceRef } from '../../definition/specs.ts';
import type { EventStep, Load, Step } from '../../definition/workload.ts';

/** One piece of input. `at` counts from 1: the line of a file, the step of a workload. */
export interface InputItem {
  readonly at: number;
  /** What it came from, to be kept where it is rejected. */
  readonly text: () => string;
  /** The step it is, or why it is none. */
  readonly step: Step | EventStep | string;
}

export interface Input {
  /** For people: `flights`, `orders.jsonl`. */
  readonly name: string;
  /** Tells this input from others, so that a marker of one is never taken for another's. */
  readonly identity: Readonly<Record<string, unknown>>;
  /** When the archive's rules look at what was loaded, milliseconds; absent: at the time it is. */
  readonly now?: number;
  items(): AsyncIterable<InputItem>;
}

/** The steps that a pipeline's `input.ts` or `workload.ts` yields; undefined where its folder has neither. */
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

/** Lines of JSON for one document type; `type` is stamped on a document without one. */
export async function fileInput(file: string, into: SourceRef): Promise<Input> {
  const path = resolve(file);
  if (!(await exists(path))) {
    throw new UsageError('input-missing', `There is no file ${file}`, {
      mend: 'Give --input the path of a file with one JSON document a line.',
    });
  }
  return {
    name: file,
    identity: { file: path, ...into },
    async *items() {
      let at = 0;
      for await (const text of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
        at += 1;
        // Blank lines, and the byte order mark that editors on Windows write, are nobody's mistake.
        const line = at === 1 ? text.replace(/^\uFEFF/, '') : text;
        if (line.trim() !== '') yield { at, text: () => line, step: parseLine(line, into) };
      }
    },
  };
}

function parseLine(text: string, { container, type }: SourceRef): Step | string {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    return `no JSON: ${messageOf(error)}`;
  }
  if (!isObject(document)) return 'a JSON value that is no object';
  if (document['type'] !== undefined && document['type'] !== type) {
    return `its type is ${JSON.stringify(document['type'])}, wanted is "${type}"`;
  }
  const { id } = document;
  if (typeof id !== 'string') return id === undefined ? 'it has no id' : 'its id is no string';
  return { container, upsert: { ...document, id, type } };
}

async function loadModule(file: string): Promise<{ load: Load; now: number | undefined }> {
  let module: { load?: unknown; now?: unknown };
  try {
    module = (await import(pathToFileURL(file).href)) as { load?: unknown; now?: unknown };
  } catch (error) {
    throw new UsageError('input-unloadable', `${file} can't be loaded: ${messageOf(error)}`, {
      cause: error,
      mend: isMissingPackage(error)
        ? 'Install the package it needs (`npm install` in a checkout brings those of the examples).'
        : 'Run it with Node alone to see where it fails.',
    });
  }
  if (typeof module.load !== 'function') {
    throw new UsageError('input-unloadable', `${file} exports no function \`load\``, {
      mend: 'Export `async function* load({ seed })` that yields steps.',
    });
  }
  const now = module.now === undefined ? undefined : parseDate(module.now);
  if (module.now !== undefined && now === undefined) {
    throw new UsageError('input-unloadable', `${file} exports a \`now\` that is no date`, {
      mend: "Write it as `export const now = '2026-06-03T00:00:00Z'`, or leave it out.",
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
