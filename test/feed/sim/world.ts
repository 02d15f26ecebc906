import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../../src/base/clock.ts';
import { abortReason } from '../../../src/base/errors.ts';
import type { Random } from '../../support/random.ts';

/** Virtual time: what is due happens in order, and everything that follows from it before anything else is due. */
export class World {
  now = 0;
  readonly random: Random;
  readonly #queue: { readonly at: number; readonly run: () => void }[] = [];

  constructor(random: Random) {
    this.random = random;
  }

  in(ms: number, run: () => void): void {
    const at = this.now + ms;
    let low = 0;
    for (let high = this.#queue.length; low < high;) {
      const middle = (low + high) >>> 1;
      if (this.#queue[middle]!.at > at) low = middle + 1;
      else high = middle;
    }
    this.#queue.splice(low, 0, { at, run });
  }

  async pass(ms: number): Promise<void> {
    const end = this.now + ms;
    await turn();
    for (let next; (next = this.#queue.at(-1)) && next.at <= end;) {
      this.#queue.pop();
      this.now = next.at;
      next.run();
      await turn();
    }
    this.now = end;
  }
}

/** A process: it may be killed (nothing of it ever happens again) or stand still (everything waits). Its wall clock is wrong. */
export class Process {
  readonly world: World;
  readonly clock: Clock;
  state: 'running' | 'paused' | 'dead' = 'running';
  #deferred: (() => void)[] = [];

  constructor(world: World, skewMs: number, offsetMs: number) {
    this.world = world;
    this.clock = {
      now: () => world.now + skewMs,
      monotonic: () => world.now + offsetMs,
      sleep: (ms, signal) =>
        new Promise((resolve, reject) => {
          if (signal?.aborted) return reject(abortReason(signal));
          signal?.addEventListener('abort', () => reject(abortReason(signal)), { once: true });
          this.in(ms, resolve);
        }),
    };
  }

  /** Happens to this process, if it is there by then. */
  in(ms: number, run: () => void): void {
    this.world.in(ms, () => this.#happen(run));
  }

  resume(): void {
    if (this.state === 'dead') return;
    this.state = 'running';
    for (const run of this.#deferred.splice(0)) run();
  }

  #happen(run: () => void): void {
    if (this.state === 'running') run();
    else if (this.state === 'paused') this.#deferred.push(run);
  }
}

export interface Faults {
  /** Probabilities of a request. */
  throttle: number;
  failBefore: number;
  /** It is done, and no one hears of it. */
  loseAnswer: number;
  /** Nothing is ever heard. */
  hang: number;
}

export const NO_FAULTS: Readonly<Faults> = { throttle: 0, failBefore: 0, loseAnswer: 0, hang: 0 };

const refused = (code: number): Error => Object.assign(new Error(`status ${code}`), { code });

/** A request: on its way, done (even if its sender died meanwhile), and on its way back. */
export function remote<T>(process: Process, faults: Readonly<Faults>, effect: () => T): Promise<T> {
  const { world } = process;
  const { random } = world;
  const trip = (): number => 1 + random.int(random.chance(0.05) ? 1_500 : 20);
  return new Promise<T>((resolve, reject) => {
    if (random.chance(faults.throttle)) return process.in(trip(), () => reject(refused(429)));
    if (random.chance(faults.failBefore)) return process.in(trip(), () => reject(refused(503)));
    const hangs = random.chance(faults.hang);
    const lost = random.chance(faults.loseAnswer);
    world.in(trip(), () => {
      let answer: () => void;
      try {
        const value = effect();
        answer = () => resolve(value);
      } catch (error) {
        answer = () => reject(error);
      }
      if (!hangs) process.in(trip(), lost ? () => reject(refused(503)) : answer);
    });
  });
}
