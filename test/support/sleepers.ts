import { abortReason } from '../../src/base/errors.ts';

/** Those who sleep by a clock of a test's own, until it says what time it is. */
export class Sleepers {
  #sleeping: { readonly until: number; readonly wake: () => void }[] = [];

  get none(): boolean {
    return this.#sleeping.length === 0;
  }

  /** When the next one wakes; Infinity if none sleeps. */
  get next(): number {
    return this.#sleeping.reduce((least, { until }) => Math.min(least, until), Infinity);
  }

  /** Rejects with the signal's reason. */
  sleepUntil(until: number, signal?: AbortSignal): Promise<void> {
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
      const sleeper = { until, wake };
      signal?.addEventListener('abort', abort, { once: true });
      this.#sleeping.push(sleeper);
    });
  }

  wakeAt(now: number): void {
    const due = this.#sleeping.filter(({ until }) => until <= now);
    this.#sleeping = this.#sleeping.filter(({ until }) => until > now);
    for (const { wake } of due) wake();
  }
}
