import { Writable } from 'node:stream';
import { vi } from 'vitest';
import { runCli } from '../../src/cli/run.ts';
import { registry } from '../../src/host/registry.ts';

export interface Served {
  /** What it says about its address. */
  readonly url: string;
  readonly written: string;
  /** As Ctrl-C; resolves with the exit code. */
  readonly stop: () => Promise<number>;
}

/** Runs a command line in this process until `stop`, and finds the address that it serves: the first group of `address`. */
export async function served(address: RegExp, args: readonly string[]): Promise<Served> {
  let written = '';
  const sink = () => new Writable({ write: (chunk: Buffer, _, done) => ((written += chunk.toString()), done()) });
  const ended = new AbortController();
  const io = { stdout: sink(), stderr: sink(), directory: process.cwd(), signal: ended.signal };
  const running = runCli(registry, '0.0.0-test', args, io);
  const [, url = ''] = await vi.waitUntil(() => address.exec(written), 60_000);
  return {
    url,
    get written() {
      return written;
    },
    stop: () => {
      ended.abort(new DOMException('Interrupted', 'AbortError'));
      return running;
    },
  };
}
