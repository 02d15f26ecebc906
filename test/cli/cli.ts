import { Writable } from 'node:stream';
import { runCli } from '../../src/cli/run.ts';
import { everyOperation } from '../../src/cli/registry.ts';

class Sink extends Writable {
  text = '';
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line in this process, as bin/millrace.mjs would in its own. */
export async function cli(
  args: readonly string[],
  options: { directory?: string; signal?: AbortSignal } = {},
): Promise<CliResult> {
  const stdout = new Sink();
  const stderr = new Sink();
  const { directory = process.cwd(), signal = new AbortController().signal } = options;
  const code = await runCli(everyOperation, '0.0.0-test', args, { stdout, stderr, directory, signal });
  return { code, stdout: stdout.text, stderr: stderr.text };
}
