const FIRST = 100;

/**
 * How many changes to ask for: as many as are handled within a target time, so that a slow handler's page fits between
 * two renewals and a crash repeats little, while a fast one pays few requests. The same number is asked for again unless
 * it is wrong by half, as a new number costs the SDK's iterator a read of the container.
 */
export class PageSize {
  readonly #most: number;
  readonly #targetMs: number;
  #size: number;

  constructor({ most, targetMs }: { readonly most: number; readonly targetMs: number }) {
    this.#most = most;
    this.#targetMs = targetMs;
    this.#size = Math.min(FIRST, most);
  }

  get size(): number {
    return this.#size;
  }

  handled(changes: number, ms: number): void {
    if (ms > this.#targetMs) this.#size = Math.max(1, Math.min(this.#size, changes) >> 1);
    // Only a full page says that more would have fitted.
    else if (ms < this.#targetMs / 2 && changes >= this.#size) this.#size = Math.min(this.#most, this.#size * 2);
  }
}
