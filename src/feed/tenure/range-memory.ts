import { lsnOf } from '../reading/position.ts';
import { PageSize, type PageSizeOptions } from '../reading/page-size.ts';

/** The longest time for which a host leaves a lease to other hosts, as a multiple of the first such time. */
const MOST_TIMES = 16;

/** Why changes were delivered and not acknowledged, the last time. */
export interface Rejection {
  /** Wall clock, milliseconds. */
  readonly at: number;
  readonly changes: number;
  readonly error: unknown;
}

/** Works of joined pages: a loss repeats this many changes and what waits behind them (PROC-L9b). */
const JOINED: PageSizeOptions = { most: 3_000, targetMs: 10_000 };

/** What a host remembers about a range from one tenure to the next. */
export class RangeMemory {
  readonly pageSize: PageSize;
  /** The most changes of joined pages: as many as take a tenth of the time that a page may get old (PROC-L10a). */
  readonly joined = new PageSize(JOINED);
  /** This host's last tenure. */
  tenure: string | undefined;
  /** Changes that this host has handled. */
  handled = 0;
  rejection: Rejection | undefined;
  /** How often this host has delivered a page, by the position that it was read from. */
  readonly #deliveries = new Map<string, number>();
  #stalls = 0;
  #stalledAt: string | undefined;
  #leaveUntil = -Infinity;

  constructor(pageSize?: PageSizeOptions) {
    this.pageSize = new PageSize(pageSize);
  }

  /** Notes that a page is delivered that was read from this position. */
  delivers(from: string): void {
    this.#deliveries.set(from, (this.#deliveries.get(from) ?? 0) + 1);
  }

  deliveriesOf(from: string): number {
    return this.#deliveries.get(from) ?? 0;
  }

  /** Notes that all changes before this position are acknowledged. */
  advanced(to: string): void {
    for (const from of this.#deliveries.keys()) if (lsnOf(from) < lsnOf(to)) this.#deliveries.delete(from);
  }

  /**
   * Notes that this host gave the lease up at this position, without progress. It leaves the lease to other hosts for `ms`
   * after the expiration; each time without an acknowledgement in between doubles that time.
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
