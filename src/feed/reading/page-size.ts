const FIRST = 100;

export interface PageSizeOptions {
  readonly most: number;
  /** How long a page should take. */
  readonly targetMs: number;
}

/**
 * How many changes to ask for. With a target, as many as are handled within it, so that a slow handler's page fits between
 * two renewals and a crash repeats little, while a fast one pays few requests; the same number is asked for again unless
 * it is wrong by half, as a new number costs the SDK's iterator a read of the container. With or without one, fewer after
 * a page that took too long to be handled at all, until that many more were.
 */
export class PageSize {
  readonly #options: PageSizeOptions | undefined;
  #size: number | undefined;
  /** Below the smallest page that was rejected; doubled by each full page that is handled, and dropped at `upTo`. */
  #limit: { readonly most: number; readonly upTo: number } | undefined;

  constructor(options?: PageSizeOptions) {
    this.#options = options;
    this.#size = options && Math.min(FIRST, options.most);
  }

  /** Undefined: as many as the source gives. */
  get size(): number | undefined {
    if (!this.#limit) return this.#size;
    return Math.min(this.#limit.most, this.#size ?? Infinity);
  }

  handled(changes: number, ms: number): void {
    const size = this.size ?? Infinity;
    if (this.#options && this.#size !== undefined) {
      const { most, targetMs } = this.#options;
      if (ms > targetMs) this.#size = Math.max(1, Math.min(this.#size, changes) >> 1);
      // Only a full page says that more would have fitted.
      else if (ms < targetMs / 2 && changes >= size) this.#size = Math.min(most, this.#size * 2);
    }
    if (!this.#limit || changes < size) return;
    const next = { most: this.#limit.most * 2, upTo: this.#limit.upTo };
    this.#limit = next.most < next.upTo ? next : undefined;
  }

  /** A page of so many took too long. */
  rejected(changes: number): void {
    const most = Math.max(1, Math.min(changes, this.#limit?.most ?? changes) >> 1);
    this.#limit = { most, upTo: Math.max(changes, this.#limit?.upTo ?? 0) };
  }
}
