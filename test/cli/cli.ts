import { Writable } from 'node:stream';
import type { Clock } from '../../src/base/clock.ts';
import { runCli } from '../../src/cli/run.ts';
import { transportOf } from '../support/transports.ts';
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

interface CliOptions {
  readonly directory?: string;
  readonly signal?: AbortSignal;
  /** Gets standard output after each write. */
  readonly wrote?: (stdout: string) => void;
  readonly clock?: Clock;
}

/** Runs a command line in this process, as bin/millrace.mjs would in its own. */
export async function cli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const stdout = new Sink(options.wrote);
  const stderr = new Sink();
  const { directory = process.cwd(), signal = new AbortController().signal, clock } = options;
  const code = await runCli(everyOperation, '0.0.0-test', args, {
    stdout,
    stderr,
    directory,
    signal,
    ...(clock && { clock }),
    transport: transportOf(process.env['COSMOS']),
  });
  const why = misprinted(args, stdout.text);
  if (why !== undefined) throw new Error(why);
  return { code, stdout: stdout.text, stderr: stderr.text };
}
