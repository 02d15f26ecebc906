import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { UsageError, messageOf } from '../../base/errors.ts';

export interface Reject {
  /** Line of the file, or number of the step, from 1. */
  readonly line: number;
  readonly why: string;
  /** What stood there. */
  readonly text: string;
}

/** What could not be loaded, one JSON object a line, so that nothing is lost and all of it can be mended and loaded again. */
export class RejectsFile {
  readonly path: string;

  constructor(directory: string, inputName: string) {
    this.path = join(directory, `${basename(inputName)}.rejects.jsonl`);
  }

  /** Keeps the rejects up to `line` of a run that is resumed: those after it come again. */
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
      throw new UsageError('rejects-unwritable', `The rejects can't be written to ${this.path}: ${messageOf(error)}`, {
        cause: error,
        mend: 'Run it in a folder you may write to, or give one by --data.',
      });
    }
  }
}

const lineOf = (entry: string): number => {
  try {
    return (JSON.parse(entry) as Reject).line;
  } catch {
    // Cut off by a kill: written again from its chunk.
    return Infinity;
  }
};
