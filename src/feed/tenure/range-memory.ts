import { lsnOf } from '../reading/position.ts';
import { PageSize, type PageSizeOptions } from '../reading/page-size.ts';

/** The longest that a host stands back: so many times what it does the first time. */
const MOST_TIMES = 16;

/** What a host remembers of a range from one tenure to the next. */
export class RangeMemory {
  readonly pageSize: PageSize;
  /** This host's last. */
  tenure: string | undefined;
  /** By the position that a page was read from, how often this host handed it on. */
  readonly #deliveries = new Map<string, number>();
  #stalls = 0;
  #stalledAt: string | undefined;
  #leaveUntil = -Infinity;

  constructor(pageSize?: PageSizeOptions) {
    this.pageSize = new PageSize(pageSize);
  }

  /** A page that was read from here is handed on. */
  delivers(from: string): void {
    this.#deliveries.set(from, (this.#deliveries.get(from) ?? 0) + 1);
  }

  deliveriesOf(from: string): number {
    return this.#deliveries.get(from) ?? 0;
  }

  /** What comes before is acknowledged. */
  advanced(to: string): void {
    for (const from of this.#deliveries.keys()) if (lsnOf(from) < lsnOf(to)) this.#deliveries.delete(from);
  }

  /**
   * The lease was given up at this position, as nothing came of having it. It is left to others for `ms`, twice as long
   * each time that nothing was acknowledged in between.
   */
  stalled(position: string | undefined, now: number, expirationMs: number, ms: number): void {
    this.#stalls = position === this.#stalledAt ? this.#stalls + 1 : 1;
    this.#stalledAt = position;
    this.#leaveUntil = now + expirationMs + ms * Math.min(MOST_TIMES, 2 ** (this.#stalls - 1));
  }

  isLeftToOthers(now: number): boolean {
    return now < this.#leaveUntil;
  }
}
