import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { startProxy } from './proxy.ts';
import type { Random } from './random.ts';
import type { Stage } from './stage.ts';

export type Verb = 'rebuild' | 'promote' | 'replay' | 'redrive' | 'migrate' | 'rollback';

/** Where a verb's process may be killed: pieces sent to the server, by what a run to its end has taken. */
const FIRST_GUESS = 60;

/** Kills processes that run operations, each at a random request. */
export class Killing {
  readonly kills = new Map<Verb, number>();
  readonly #random: Random;
  readonly #longest = new Map<Verb, number>();

  constructor(random: Random) {
    this.#random = random;
  }

  get count(): number {
    return [...this.kills.values()].reduce((sum, kills) => sum + kills, 0);
  }

  /** True: SIGKILL came before its end; false: it ended well first. */
  async attempt(stage: Stage, folder: string, verb: Verb, name = ''): Promise<boolean> {
    const sent = await run(stage, folder, verb, name, 1 + this.#random.int(this.#longest.get(verb) ?? FIRST_GUESS));
    if (sent.killed) this.kills.set(verb, (this.kills.get(verb) ?? 0) + 1);
    else this.#longest.set(verb, Math.max(5, sent.pieces));
    return sent.killed;
  }

  /** Kills a verb's process `times` times, each time begun again where it was, unless it ends first; then lets it end. */
  async until(stage: Stage, folder: string, verb: Verb, times: number, name = ''): Promise<void> {
    for (let killed = 0; killed < times; killed++) if (!(await this.attempt(stage, folder, verb, name))) return;
    await run(stage, folder, verb, name, Infinity);
  }
}

async function run(
  stage: Stage,
  folder: string,
  verb: Verb,
  name: string,
  after: number,
): Promise<{ killed: boolean; pieces: number }> {
  let pieces = 0;
  let counting = false;
  const { port } = new URL(stage.emulator.endpoint);
  await using proxy = await startProxy(Number(port), () => {
    if (!counting) return true;
    pieces += 1;
    if (pieces > after) child.kill('SIGKILL');
    return pieces <= after;
  });
  const account = stage.emulator.connectionString.replace(`:${port}`, `:${proxy.port}`);
  const child = fork(join(import.meta.dirname, '../procedures/migrate/worker.ts'), [verb, name, folder], {
    execArgv: ['--conditions=millrace-source'],
    env: { ...process.env, ...stage.env, COSMOS: account, LEASES: account },
  });
  const exit = once(child, 'exit') as Promise<[code: number | null, signal: NodeJS.Signals | null]>;
  await Promise.race([once(child, 'message'), exit]);
  counting = true;
  child.send('go', () => undefined);
  const [code, signal] = await exit;
  if (signal === 'SIGKILL' && pieces > after) return { killed: true, pieces };
  if (code !== 0) throw new Error(`${verb} ${name} ended with ${String(code ?? signal)} after ${pieces} pieces`);
  return { killed: false, pieces };
}
