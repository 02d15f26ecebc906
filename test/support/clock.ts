import type { Clock } from '../../src/base/clock.ts';
import { abortReason } from '../../src/base/errors.ts';

/** Time that passes only when the test says so. */
export class ManualClock implements Clock {
  #now = 1_000;
  #sleeping: { readonly until: number; readonly wake: () => void }[] = [];
  /** What was asked for, in milliseconds, in order. */
  readonly slept: number[] = [];

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    this.slept.push(ms);
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(abortReason(signal));
      signal?.addEventListener('abort', () => reject(abortReason(signal)), { once: true });
      this.#sleeping.push({ until: this.#now + ms, wake: resolve });
    });
  }

  advance(ms: number): void {
    this.#now += ms;
    const due = this.#sleeping.filter(({ until }) => until <= this.#now);
    this.#sleeping = this.#sleeping.filter(({ until }) => until > this.#now);
    for (const { wake } of due) wake();
  }
}
