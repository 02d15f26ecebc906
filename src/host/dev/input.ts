import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { runtimeError } from '../../runtime/errors.ts';
import { operationsError } from '../../procedures/errors.ts';
import { messageOf } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { parseDate } from '../../pipeline/date.ts';
import type { SourceRef } from '../../pipeline/specs.ts';
import type { EventStep, Load, Step, WhileMoving } from '../../pipeline/workload.ts';

/** One piece of input. `at` counts from 1: the line of a file, the step of a workload. */
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
  /** How documents change while a tenant moves. */
  readonly whileMoving?: WhileMoving;
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
      const { load, now, whileMoving } = await loadModule(file);
      return {
        name: `${folder.split(/[\\/]/).at(-1)}/${name}`,
        identity: { workload: name, seed },
        ...(now === undefined ? {} : { now }),
        ...(whileMoving && { whileMoving }),
        async *items() {
          let at = 0;
          for await (const step of load({ seed })) yield { at: ++at, text: () => JSON.stringify(step), step };
        },
      };
    }
  }
  return undefined;
}

/** Lines of JSON for one document type. A document without `type` gets it. */
export async function fileInput(file: string, into: SourceRef): Promise<Input> {
  const path = resolve(file);
  if (!(await exists(path))) {
    throw operationsError('input-invalid', `There is no file ${file}`, {
      hint: 'Give `--input` the path of a file with one JSON document a line.',
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
      for await (const text of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
        at += 1;
        // Not what the stream has read: that is far ahead.
        read += Buffer.byteLength(text) + 1;
        // Editors write blank lines, and on Windows a byte order mark: neither is an error.
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
  readonly whileMoving: WhileMoving | undefined;
}

async function loadModule(file: string): Promise<Loadable> {
  let module: { load?: unknown; now?: unknown; whileMoving?: unknown };
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
  const { whileMoving } = module;
  if (whileMoving !== undefined && !isWhileMoving(whileMoving)) {
    throw runtimeError('unloadable', `${file} exports a \`whileMoving\` without \`container\` and \`change\``, {
      hint: "Write `export const whileMoving = { container: 'Orders', change: (order, n) => ({ ...order, n }) }`, or leave it out.",
    });
  }
  return { load: module.load as Load, now, whileMoving };
}

const isWhileMoving = (value: unknown): value is WhileMoving =>
  isObject(value) && typeof value['container'] === 'string' && typeof value['change'] === 'function';

const isMissingPackage = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
