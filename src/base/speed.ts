/** The time that a rate is taken over. Shorter, it jumps; longer, it is late to say that work has stopped. */
const WINDOW_MS = 10_000;
/** Before that, a rate says more about the start than about the work. */
const LEAST_MS = 500;
const SAMPLE_MS = 250;

/** How fast a count grows, from the last seconds. */
export class Speed {
  #samples: { readonly at: number; readonly done: number }[] = [];

  /** `at`: milliseconds on a clock that never goes back. A count that shrinks is another one. */
  note(done: number, at: number): void {
    const last = this.#samples.at(-1);
    if (last && done < last.done) this.#samples = [];
    // The first one stays until the window has passed it, and the last one is always the newest.
    if (this.#samples.length > 1 && last && at - (this.#samples.at(-2)?.at ?? 0) < SAMPLE_MS) this.#samples.pop();
    this.#samples.push({ at, done });
    while ((this.#samples[1]?.at ?? Infinity) <= at - WINDOW_MS) this.#samples.shift();
  }

  /** Undefined: it isn't known yet. */
  perSecond(): number | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (!first || !last || last.at - first.at < LEAST_MS) return undefined;
    return ((last.done - first.done) * 1000) / (last.at - first.at);
  }

  /** Seconds until a count of `of`; undefined: not known, or no end in sight. */
  secondsTo(of: number): number | undefined {
    const rate = this.perSecond();
    const done = this.#samples.at(-1)?.done ?? 0;
    return rate === undefined || rate <= 0 ? undefined : Math.max(0, of - done) / rate;
  }
}

/** `120/s`, and with one decimal below ten. */
export const sayRate = (perSecond: number): string =>
  `${perSecond.toLocaleString('en-US', { maximumFractionDigits: perSecond < 10 ? 1 : 0 })}/s`;
