import { Writable } from 'node:stream';
import { runCli } from '../../src/cli/run.ts';
import { misprinted } from './printed.ts';
import { everyOperation } from '../../src/cli/registry.ts';

class Sink extends Writable {
  text = '';
  readonly #wrote: ((text: string) => void) | undefined;

  constructor(wrote?: (text: string) => void) {
    super();
    this.#wrote = wrote;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    this.#wrote?.(this.text);
    done();
  }
}

export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line in this process, as bin/millrace.mjs would in its own. `wrote` gets standard output after each write. */
export async function cli(
  args: readonly string[],
  options: { directory?: string; signal?: AbortSignal; wrote?: (stdout: string) => void } = {},
): Promise<CliResult> {
  const stdout = new Sink(options.wrote);
  const stderr = new Sink();
  const { directory = process.cwd(), signal = new AbortController().signal } = options;
  const code = await runCli(everyOperation, '0.0.0-test', args, { stdout, stderr, directory, signal });
  const why = process.env['MILLRACE_SCHEMAS'] === '1' ? misprinted(args, stdout.text) : undefined;
  if (why !== undefined) throw new Error(why);
  return { code, stdout: stdout.text, stderr: stderr.text };
}
