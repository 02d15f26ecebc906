import type { Clock } from '../../src/base/clock.ts';
import { abortReason } from '../../src/base/errors.ts';

const LONGEST_TURN_MS = 2;

/**
 * Time that passes with the turns of the event loop: as much as really does, but no more than 2 ms from one turn to the
 * next. On a machine that is too busy for a process's timers, leases of milliseconds would expire whatever their owners
 * do; by this clock they are slower there instead, and each request takes about as long as anywhere.
 */
export class TurnClock implements Clock {
  readonly #begun = Date.now();
  #now = 0;
  #turnedAt = performance.now();
  #turning = false;
  #sleeping: { readonly until: number; readonly wake: () => void }[] = [];

  now(): number {
    return this.#begun + this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(abortReason(signal));
      const abort = (): void => {
        this.#sleeping = this.#sleeping.filter((one) => one !== sleeper);
        if (signal) reject(abortReason(signal));
      };
      const wake = (): void => {
        signal?.removeEventListener('abort', abort);
        resolve();
      };
      const sleeper = { until: this.#now + ms, wake };
      signal?.addEventListener('abort', abort, { once: true });
      this.#sleeping.push(sleeper);
      if (!this.#turning) this.#goOn();
    });
  }

  #turn(): void {
    const now = performance.now();
    this.#now += Math.min(now - this.#turnedAt, LONGEST_TURN_MS);
    this.#turnedAt = now;
    const due = this.#sleeping.filter(({ until }) => until <= this.#now);
    this.#sleeping = this.#sleeping.filter(({ until }) => until > this.#now);
    for (const { wake } of due) wake();
    this.#goOn();
  }

  /** For as long as anybody sleeps. */
  #goOn(): void {
    this.#turning = this.#sleeping.length > 0;
    if (this.#turning) setTimeout(() => this.#turn(), 1);
  }
}
