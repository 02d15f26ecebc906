import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Emulator } from '../../../../src/emulator/index.ts';
import { type Proxy, startProxy } from '../../../support/proxy.ts';
import type { MoveAnswer, MoveOrder, MoverWork } from '../move-worker.ts';

/** How the steps begin, as the mover reports them. */
export const STEPS = [
  'preparing',
  'copying',
  'waiting for the hosts',
  'changing over',
  'the map gives',
  'removing',
] as const;
export type Step = (typeof STEPS)[number];

export interface Death {
  /** From the beginning of this step on requests are counted; absent: from the beginning. */
  readonly step?: Step;
  /** It dies with so many pieces of requests sent. */
  readonly after: number;
  /** Its last one arrives. */
  readonly lands: boolean;
}

export interface MoverRun {
  /** The step in which it died. */
  readonly killed: Step | undefined;
  /** Pieces of requests that it sent. */
  readonly pieces: number;
  /** How long each step took, milliseconds. */
  readonly took: Readonly<Partial<Record<Step, number>>>;
  readonly answer: MoveAnswer;
}

interface Running {
  readonly child: ChildProcess;
  /** Settles with the end of the process. */
  readonly exit: Promise<[code: number | null, signal: NodeJS.Signals | null]>;
}

interface Current {
  readonly death: Death | undefined;
  step: Step;
  pieces: number;
  counted: number;
}

/** A process that moves keys, one after the other, until it is killed. Another one then takes its place. */
export class Mover implements AsyncDisposable {
  readonly #proxy: Proxy;
  readonly #work: Omit<MoverWork, 'endpoint'>;
  readonly #state: State;
  #running: Running | undefined;
  /** What the process said last. */
  says = '';

  private constructor(proxy: Proxy, work: Omit<MoverWork, 'endpoint'>, state: State) {
    this.#proxy = proxy;
    this.#work = work;
    this.#state = state;
  }

  static async open({ endpoint, key }: Emulator, leases: string): Promise<Mover> {
    const state = new State();
    const proxy = await startProxy(Number(new URL(endpoint).port), () => state.passes());
    return new Mover(proxy, { key, leases }, state);
  }

  /** Moves a key, or dies of it. */
  async move(order: MoveOrder, death?: Death): Promise<MoverRun> {
    const { child, exit } = (this.#running ??= await this.#start());
    const current = this.#state.begin(child, death);
    const took: Partial<Record<Step, number>> = {};
    let since = performance.now();
    const enter = (step: Step): void => {
      took[current.step] = (took[current.step] ?? 0) + performance.now() - since;
      since = performance.now();
      current.step = step;
    };
    const answered = new Promise<MoveAnswer>((resolve) => {
      child.on('message', (said: string | MoveAnswer) => {
        if (typeof said === 'object') return resolve(said);
        this.says = said;
        enter(STEPS.find((step) => said.startsWith(step)) ?? current.step);
      });
    });
    child.send(order, () => undefined);
    const answer = await Promise.race([answered, exit.then(() => undefined)]);
    // A process that was killed just after its answer is dead all the same.
    if (answer && !this.#state.killed) {
      child.removeAllListeners('message');
      enter(current.step);
      return { killed: undefined, pieces: current.pieces, took, answer };
    }
    const [code, by] = await exit;
    this.#running = undefined;
    if (by !== 'SIGKILL' || !this.#state.killed) throw new Error(`The mover ended with ${String(code ?? by)}`);
    return { killed: current.step, pieces: current.pieces, took, answer: {} };
  }

  async #start(): Promise<Running> {
    this.#state.idle();
    const work: MoverWork = { ...this.#work, endpoint: `http://127.0.0.1:${this.#proxy.port}/` };
    const child = fork(join(import.meta.dirname, '../move-worker.ts'), [JSON.stringify(work)], {
      execArgv: ['--conditions=millrace-source'],
    });
    const exit = once(child, 'exit') as Running['exit'];
    await once(child, 'message');
    return { child, exit };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#running?.child.kill('SIGKILL');
    await this.#running?.exit;
    await this.#proxy[Symbol.asyncDispose]();
  }
}

/** Counts what the process sends, and kills it. */
class State {
  killed = false;
  #child: ChildProcess | undefined;
  #current: Current | undefined;

  begin(child: ChildProcess, death: Death | undefined): Current {
    this.#child = child;
    return (this.#current = { death, step: 'preparing', pieces: 0, counted: 0 });
  }

  idle(): void {
    this.killed = false;
    this.#current = undefined;
  }

  passes(): boolean {
    if (this.killed) return false;
    const current = this.#current;
    if (!current) return true;
    current.pieces += 1;
    const { death } = current;
    if (!death || (death.step !== undefined && current.counted === 0 && current.step !== death.step)) return true;
    current.counted += 1;
    if (current.counted < death.after) return true;
    this.killed = true;
    this.#child?.kill('SIGKILL');
    return death.lands;
  }
}
