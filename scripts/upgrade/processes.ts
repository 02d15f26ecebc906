import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Installed } from './packages.ts';

export type Env = Readonly<Record<string, string>>;

/** A process whose output is kept. */
export interface Running {
  readonly child: ChildProcess;
  said(): string;
  /** Resolves with the first match in its output; rejects if the process ends without one. */
  heard(pattern: RegExp): Promise<RegExpExecArray>;
  readonly ended: Promise<number | null>;
}

export function start(
  file: string,
  args: readonly string[],
  { env = {}, cwd }: { env?: Env; cwd?: string } = {},
): Running {
  const child = spawn(process.execPath, [file, ...args], {
    env: { ...process.env, NO_COLOR: '1', ...env },
    ...(cwd !== undefined && { cwd }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  const waiting = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      for (const check of waiting) check();
    });
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const heard = (pattern: RegExp): Promise<RegExpExecArray> => {
    const { promise, resolve, reject } = Promise.withResolvers<RegExpExecArray>();
    const check = (): void => {
      const match = pattern.exec(said);
      if (match) resolve(match);
    };
    waiting.add(check);
    void ended.then((code) => reject(new Error(`${args.join(' ')} ended (${code}) without ${pattern}\n${said}`)));
    check();
    return promise.finally(() => waiting.delete(check));
  };
  return { child, said: () => said, heard, ended };
}

/** Runs a verb of a version to its end, and returns its output of `--json`. `codes`: the expected exit codes. */
export async function verb<T>({ bin, folder }: Installed, env: Env, args: readonly string[], codes = [0]): Promise<T> {
  const child = spawn(process.execPath, [bin, ...args, '--json'], {
    env: { ...process.env, NO_COLOR: '1', ...env },
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const out = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => (out[name] += text));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== null && codes.includes(code)) return JSON.parse(out.stdout) as T;
  throw new Error(`millrace ${args.join(' ')} ended with ${code}\n${out.stdout}\n${out.stderr}`);
}

/** The running hosts of both versions. */
export class Fleet {
  /** All processes of each version, ended ones included, for their output. */
  readonly #logs = new Map<string, Running[]>();
  readonly #running = new Map<string, { readonly of: Installed; process: Running }>();
  readonly #env: Env;
  kills = 0;

  constructor(env: Env) {
    this.#env = env;
  }

  get names(): string[] {
    return [...this.#running.keys()];
  }

  start(of: Installed, name: string): void {
    const args = ['run', '--host', name, '--poll-delay', '100', '--lease-expiration', '3000'];
    const running = start(of.bin, args, { env: this.#env, cwd: of.folder });
    this.#logs.set(of.name, [...(this.#logs.get(of.name) ?? []), running]);
    this.#running.set(name, { of, process: running });
  }

  /** Kills a host by SIGKILL, and starts it again. */
  async kill(name: string): Promise<void> {
    const of = await this.stop(name, 'SIGKILL');
    this.kills += 1;
    this.start(of, name);
  }

  async stop(name: string, signal: 'SIGKILL' | 'SIGTERM'): Promise<Installed> {
    const one = this.#running.get(name);
    if (!one) throw new Error(`No host ${name} runs`);
    this.#running.delete(name);
    if (one.process.child.exitCode !== null)
      throw new Error(`${name} ended before it was stopped\n${one.process.said()}`);
    one.process.child.kill(signal);
    await one.process.ended;
    return one.of;
  }

  said(version: string): string {
    return (this.#logs.get(version) ?? []).map((one) => one.said()).join('\n');
  }

  async end(): Promise<void> {
    for (const name of this.names) await this.stop(name, 'SIGKILL').catch(() => undefined);
  }
}
