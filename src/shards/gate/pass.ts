import type { Clock } from '../../base/clock.ts';
import { REQUEST_TIMEOUT_MS } from '../../cosmos/landing.ts';

/** Permission for one write. It is among those under way until it is disposed of. */
export class GatePass implements Disposable {
  readonly #clock: Clock;
  readonly #until: number;
  readonly #underWay: { delete(pass: GatePass): unknown };
  #signal: AbortSignal | undefined;

  constructor(clock: Clock, now: number, underWay: { delete(pass: GatePass): unknown }) {
    this.#clock = clock;
    this.#until = now + REQUEST_TIMEOUT_MS;
    this.#underWay = underWay;
  }

  get signal(): AbortSignal {
    // A timeout takes whole milliseconds.
    return (this.#signal ??= AbortSignal.timeout(Math.max(0, Math.floor(this.#until - this.#clock.monotonic()))));
  }

  [Symbol.dispose](): void {
    this.#underWay.delete(this);
  }
}
