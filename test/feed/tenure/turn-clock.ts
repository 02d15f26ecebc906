import type { Clock } from '../../../src/base/clock.ts';
import { Sleepers } from '../../support/sleepers.ts';

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
  readonly #sleepers = new Sleepers();

  now(): number {
    return this.#begun + this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const slept = this.#sleepers.sleepUntil(this.#now + ms, signal);
    if (!this.#turning) this.#goOn();
    return slept;
  }

  #turn(): void {
    const now = performance.now();
    this.#now += Math.min(now - this.#turnedAt, LONGEST_TURN_MS);
    this.#turnedAt = now;
    this.#sleepers.wakeAt(this.#now);
    this.#goOn();
  }

  /** For as long as anybody sleeps. */
  #goOn(): void {
    this.#turning = !this.#sleepers.none;
    if (this.#turning) setTimeout(() => this.#turn(), 1);
  }
}
