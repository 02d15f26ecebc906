const FIRST_MS = 5_000;
const MOST_MS = 30_000;

/** Spaces look-ups that a failure asks for: 5 s after the first that didn't help, up to 30 s; a success resets it. */
export class BackOff {
  #pauseMs = 0;
  #nextAt = -Infinity;

  isDue(now: number): boolean {
    return now >= this.#nextAt;
  }

  /** A look-up begins. */
  grow(now: number): void {
    this.#pauseMs = Math.min(MOST_MS, Math.max(FIRST_MS, 2 * this.#pauseMs));
    this.#nextAt = now + this.#pauseMs;
  }

  reset(): void {
    this.#pauseMs = 0;
    this.#nextAt = -Infinity;
  }
}
