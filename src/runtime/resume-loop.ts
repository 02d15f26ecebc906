import { setTimeout as delay } from 'node:timers/promises';
import { emit } from '../base/diagnostics.ts';
import type { Engine } from '../engine/engine.ts';

const PAUSE_MS = 1_000;
/** Between two looks while somebody waits for nothing to be left. */
const SHORT_MS = 20;

/** Calls `Engine.resume` now and then, whether changes come or not: fan-outs go on, and those of lost hosts are found. */
export class ResumeLoop {
  readonly #engine: Engine;
  readonly #ending = new AbortController();
  #running: Promise<void> = Promise.resolve();
  /** One call at a time. */
  #call: Promise<boolean> | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }

  /** Whether nothing was left to do, after having done it where something was: resolves when nothing is left. */
  async idle(signal: AbortSignal): Promise<boolean> {
    // A call that is under way may have looked before the last change came.
    await this.#call?.catch(() => false);
    if (await this.#resume()) return true;
    while (!(await this.#resume())) await delay(SHORT_MS, undefined, { signal });
    return false;
  }

  #resume(): Promise<boolean> {
    return (this.#call ??= this.#engine.resume(this.#ending.signal).finally(() => (this.#call = undefined)));
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      try {
        await this.#resume();
        await delay(PAUSE_MS, undefined, { signal });
      } catch (error) {
        if (signal.aborted) return;
        emit('engine:resume-failed', { error });
        await delay(PAUSE_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }
}
