import type { Clock } from '../../../base/clock.ts';
import type { Pause } from './pause.ts';

export interface LimitOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** What is limited. */
  readonly pause: Pause;
  readonly tooSlow: () => Error;
}

/** Gives work up while writes are held, so that they go on at once, whatever a request is waiting for. */
export class Limit {
  readonly #options: LimitOptions;
  readonly #working: Promise<unknown>[] = [];

  constructor(options: LimitOptions) {
    this.#options = options;
  }

  /** @throws the error of `tooSlow` when the pause has taken so long */
  endOrThrow(pauseMs: number): void {
    const { pause, tooSlow } = this.#options;
    if (pause.ms >= pauseMs) throw tooSlow();
  }

  /** The result of the work. @throws as `endOrThrow`: then the work is told to end, and is not waited for */
  async of<T>(pauseMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, signal, pause, tooSlow } = this.#options;
    this.endOrThrow(pauseMs);
    const ended = new AbortController();
    const working = work(AbortSignal.any([signal, ended.signal]));
    this.#working.push(working);
    const isOver = clock.sleep(pauseMs - pause.ms, ended.signal).then(() => Promise.reject(tooSlow()));
    try {
      return await Promise.race([working, isOver]);
    } finally {
      ended.abort();
    }
  }

  /** Resolves when no work that was given up is under way. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#working);
  }
}
