const FIRST = 100;

export interface PageSizeOptions {
  readonly most: number;
  /** How long the handling of a page should take. */
  readonly targetMs: number;
}

/**
 * Chooses the number of changes to request. With a target, as many as can be handled in that time: the page of a slow
 * handler then fits between two renewals, and a crash repeats little; a fast handler needs few requests. The number
 * changes only if it is wrong by half. With or without a target, it is halved after a page that took too long, and grows again with the pages that are handled.
 */
export class PageSize {
  readonly #options: PageSizeOptions | undefined;
  #size: number | undefined;
  /** Half of the smallest rejected page. Each full page that is handled doubles it; at `upTo` it is removed. */
  #limit: { readonly most: number; readonly upTo: number } | undefined;

  constructor(options?: PageSizeOptions) {
    this.#options = options;
    this.#size = options && Math.min(FIRST, options.most);
  }

  /** Undefined: as many as the source returns. */
  get size(): number | undefined {
    if (!this.#limit) return this.#size;
    return Math.min(this.#limit.most, this.#size ?? Infinity);
  }

  handled(changes: number, ms: number): void {
    const size = this.size ?? Infinity;
    if (this.#options && this.#size !== undefined) {
      const { most, targetMs } = this.#options;
      if (ms > targetMs) this.#size = Math.max(1, Math.min(this.#size, changes) >> 1);
      // Only a full page shows that more changes would fit.
      else if (ms < targetMs / 2 && changes >= size) this.#size = Math.min(most, this.#size * 2);
    }
    if (!this.#limit || changes < size) return;
    const next = { most: this.#limit.most * 2, upTo: this.#limit.upTo };
    this.#limit = next.most < next.upTo ? next : undefined;
  }

  /** A page with this number of changes took too long. */
  rejected(changes: number): void {
    const most = Math.max(1, Math.min(changes, this.#limit?.most ?? changes) >> 1);
    this.#limit = { most, upTo: Math.max(changes, this.#limit?.upTo ?? 0) };
  }
}
