import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, sep } from 'node:path';
import { inject } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
/** Starts the sources. */
export const SOURCES = join(ROOT, 'bin/millrace.mjs');

/** A millrace process: what it wrote so far, and a way to wait for it to write something. */
export interface Millrace extends AsyncDisposable {
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves when either stream matches; rejects with both when the process ends first. */
  until(pattern: RegExp): Promise<RegExpExecArray>;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/**
 * Without `bin`, tests of processes (`.e2e`) start what was built. Paths in this checkout are then those of the same
 * files beside it, so that a pipeline's `millrace` is what was built too. Scripts, outside of Vitest, must name a `bin`.
 */
export function millrace(
  args: readonly string[],
  { env = {}, directory, bin }: { env?: Readonly<Record<string, string>>; directory?: string; bin?: string } = {},
): Millrace {
  const built = bin === undefined ? inject('built') : undefined;
  const beside = (text: string): string =>
    built !== undefined && text.startsWith(`${ROOT}${sep}`) ? join(built, text.slice(ROOT.length)) : text;
  const main = bin ?? (built === undefined ? SOURCES : join(built, 'dist/src/cli/main.js'));
  const all: NodeJS.ProcessEnv = { ...process.env, ...env };
  const { MILLRACE_PIPELINE: pipeline } = all;
  const child = spawn(process.execPath, [main, ...args.map(beside)], {
    env: { ...all, ...(pipeline !== undefined && { MILLRACE_PIPELINE: beside(pipeline) }) },
    ...(directory === undefined ? {} : { cwd: directory }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const written = { stdout: '', stderr: '' };
  const waiting = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      written[name] += text;
      for (const check of waiting) check();
    });
  }
  const ended = once(child, 'close').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }));
  return {
    get stdout() {
      return written.stdout;
    },
    get stderr() {
      return written.stderr;
    },
    until: async (pattern) => {
      const found = (): RegExpExecArray | null => pattern.exec(written.stdout) ?? pattern.exec(written.stderr);
      const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>();
      const check = (): void => {
        const match = found();
        if (match) resolve(match);
      };
      waiting.add(check);
      void ended.then(({ code }) =>
        reject(new Error(`It ended (${code}) without ${pattern}\n${written.stdout}\n${written.stderr}`)),
      );
      check();
      return promise.finally(() => waiting.delete(check));
    },
    kill: (signal) => child.kill(signal),
    ended,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await ended;
    },
  };
}
