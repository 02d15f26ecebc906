import { type Millrace, millrace } from '../../test/support/process.ts';
import type { Installed } from './packages.ts';

export type Env = Readonly<Record<string, string>>;

/** Starts a verb of a version. */
const start = ({ bin, folder }: Installed, args: readonly string[], env: Env): Millrace =>
  millrace(args, { bin, directory: folder, env: { NO_COLOR: '1', ...env } });

const saidBy = ({ stdout, stderr }: Millrace): string => `${stdout}\n${stderr}`;

/** Runs a verb of a version to its end, and returns its output of `--json`. `codes`: the expected exit codes. */
export async function verb<T>(of: Installed, env: Env, args: readonly string[], codes = [0]): Promise<T> {
  const run = start(of, [...args, '--json'], env);
  const { code } = await run.ended;
  if (code !== null && codes.includes(code)) return JSON.parse(run.stdout) as T;
  throw new Error(`millrace ${args.join(' ')} ended with ${code}\n${saidBy(run)}`);
}

/** The running hosts of both versions. */
export class Fleet {
  /** All processes of each version, ended ones included, for their output. */
  readonly #logs = new Map<string, Millrace[]>();
  readonly #running = new Map<string, { readonly of: Installed; process: Millrace; readonly over: boolean }>();
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
    const running = start(of, args, this.#env);
    this.#logs.set(of.name, [...(this.#logs.get(of.name) ?? []), running]);
    const one = { of, process: running, over: false };
    void running.ended.then(() => (one.over = true));
    this.#running.set(name, one);
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
    if (one.over) throw new Error(`${name} ended before it was stopped\n${saidBy(one.process)}`);
    one.process.kill(signal);
    await one.process.ended;
    return one.of;
  }

  said(version: string): string {
    return (this.#logs.get(version) ?? []).map(saidBy).join('\n');
  }

  async end(): Promise<void> {
    for (const name of this.names) await this.stop(name, 'SIGKILL').catch(() => undefined);
  }
}
