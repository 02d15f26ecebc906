import { setTimeout as delay } from 'node:timers/promises';
import { emit } from '../../base/telemetry/diagnostics.ts';
import type { Engine } from '../../engine/engine.ts';

const PAUSE_MS = 1_000;
/** Pause between two calls while a caller waits in `idle`. */
const SHORT_MS = 20;

/** Calls `Engine.resume` again and again, with or without new changes: it continues fan-outs, also those of lost hosts. */
export class ResumeLoop {
  readonly #engine: Engine;
  readonly #ending = new AbortController();
  #running: Promise<void> = Promise.resolve();
  /** The call under way; there is only one at a time. */
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

  /** Resolves when no fan-out is left: with true if there was none. */
  async idle(signal: AbortSignal): Promise<boolean> {
    // The call under way may have looked before the last change came.
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
