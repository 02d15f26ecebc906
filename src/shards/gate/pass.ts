import type { Clock } from '../../base/clock.ts';
import { REQUEST_TIMEOUT_MS } from '../../cosmos/request-timeout.ts';

/** Permission for one write. It is among those under way until it is disposed of. */
export class GatePass<P extends GatePass<P>> implements Disposable {
  readonly #clock: Clock;
  readonly #until: number;
  #underWay: UnderWay<P> | undefined;
  #signal: AbortSignal | undefined;
  /** The neighbours in the list. */
  before: P | undefined;
  after: P | undefined;

  constructor(clock: Clock, now: number, underWay: UnderWay<P>) {
    this.#clock = clock;
    this.#until = now + REQUEST_TIMEOUT_MS;
    this.#underWay = underWay;
    underWay.add(this as unknown as P);
  }

  get signal(): AbortSignal {
    // A timeout takes whole milliseconds.
    return (this.#signal ??= AbortSignal.timeout(Math.max(0, Math.floor(this.#until - this.#clock.monotonic()))));
  }

  [Symbol.dispose](): void {
    this.#underWay?.remove(this as unknown as P);
    this.#underWay = undefined;
  }
}

/** The passes that are under way, linked with one another: a set would cost more than all the rest of a pass (BENCH-B21). */
export class UnderWay<P extends GatePass<P>> {
  #first: P | undefined;

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  add(pass: P): void {
    pass.after = this.#first;
    if (this.#first) this.#first.before = pass;
    this.#first = pass;
  }

  remove({ before, after }: P): void {
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
  }

  *[Symbol.iterator](): Generator<P> {
    for (let pass = this.#first; pass; pass = pass.after) yield pass;
  }
}
