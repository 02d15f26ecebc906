import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { sharedError } from '../../base/shared-errors.ts';
import { messageOf } from '../../base/errors.ts';

export interface Reject {
  /** Line of the file, or number of the step, from 1. */
  readonly line: number;
  readonly why: string;
  /** The rejected text. */
  readonly text: string;
}

/** How the name of such a file ends. */
export const REJECTS = '.rejects.jsonl';

/** The file of the rejected items, one JSON object a line, so that nothing is lost and you can correct and load them. */
export class RejectsFile {
  readonly path: string;

  constructor(directory: string, inputName: string) {
    this.path = join(directory, `${basename(inputName)}${REJECTS}`);
  }

  /** When a run resumes, keeps the rejects up to `line`: the loader reads the later ones again. */
  async resumeAfter(line: number): Promise<void> {
    const before = line === 0 ? '' : await readFile(this.path, 'utf8').catch(() => '');
    const kept = before.split('\n').filter((entry) => entry !== '' && lineOf(entry) <= line);
    if (kept.length === 0) await rm(this.path, { force: true });
    else await this.#guard(() => writeFile(this.path, `${kept.join('\n')}\n`));
  }

  async add(rejects: readonly Reject[]): Promise<void> {
    if (rejects.length === 0) return;
    await this.#guard(() => appendFile(this.path, rejects.map((reject) => `${JSON.stringify(reject)}\n`).join('')));
  }

  async #guard(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      throw sharedError('unwritable', `The rejects can't be written to ${this.path}: ${messageOf(error)}`, {
        hint: 'Run the command in a folder that you may write to, or name one with `--data`.',
        cause: error,
      });
    }
  }
}

const lineOf = (entry: string): number => {
  try {
    return (JSON.parse(entry) as Reject).line;
  } catch {
    // A kill cut the line off; the loader writes it again with its chunk.
    return Infinity;
  }
};
