import type { Clock } from '../../base/clock.ts';
import { emit } from '../../base/diagnostics.ts';
import { until } from '../../base/until.ts';
import type { Page } from '../reading/change.ts';
import { type ChangeSource, type Start, anchor } from '../reading/source.ts';
import type { TakeForReading } from './handle.ts';
import type { LeaseSession } from './lease-session.ts';
import type { RangeMemory } from './range-memory.ts';

/** What all that works for a tenure is told. */
export interface TenureOptions {
  /** The monitored container's name, for messages. */
  readonly container: string;
  readonly memory: RangeMemory;
  /** A read or a handler that takes longer gives the lease up (L8). */
  readonly stallMs: number;
  readonly clock: Clock;
}

export interface ReaderOptions extends TenureOptions {
  readonly source: ChangeSource;
  /** Where a range without a position begins. */
  readonly start: Start;
  /** When this processor was first started anywhere, where it was before this start: a start from now means then. */
  readonly startedBefore?: Date | undefined;
  /** Waits until a page of a range may be read. */
  readonly budget?: TakeForReading | undefined;
}

/** Reads a lease's range for one tenure. It keeps no position: whoever asks says after which, and rejects by its signal. */
export class Reader {
  readonly #session: LeaseSession;
  readonly #options: ReaderOptions;
  #lastReadAt = 0;

  constructor(session: LeaseSession, options: ReaderOptions) {
    this.#session = session;
    this.#options = options;
  }

  /** When the last read was begun, monotonic. */
  get lastReadAt(): number {
    return this.#lastReadAt;
  }

  /** To be called before the first read, and after each failure (L3c). */
  async prepare(signal: AbortSignal): Promise<void> {
    const prepared = this.#options.source.prepare?.(signal);
    if (prepared) await this.#watched('preparing to read', until(prepared, signal));
  }

  /** Where a range without a position begins; empty: at its beginning. */
  async begin(signal: AbortSignal): Promise<string> {
    const { source, start, startedBefore } = this.#options;
    if (start === 'beginning') return '';
    const resolved = anchor(source, this.#session.lease.range, start, startedBefore, signal);
    return this.#watched('finding the start', until(resolved, signal));
  }

  /** The page after a position, once the budget allows; undefined where there is nothing new. */
  async read(from: string, signal: AbortSignal): Promise<(Page & { readonly next: string }) | undefined> {
    const { container, source, budget, clock, memory } = this.#options;
    const { id: lease, range } = this.#session.lease;
    const grant = await budget?.(range, signal);
    this.#lastReadAt = clock.monotonic();
    let charge = 0;
    try {
      const reading = source.read(range, from, signal, memory.pageSize.size);
      const page = await this.#watched('a read', until(reading, signal));
      ({ charge } = page);
      if (page.next === from && page.changes.length === 0) return undefined;
      emit('feed:page', { container, lease, changes: page.changes.length, charge });
      return page;
    } finally {
      grant?.settle(charge);
    }
  }

  async #watched<T>(what: string, work: Promise<T>): Promise<T> {
    const watch = this.#session.watch(what, this.#options.stallMs);
    try {
      return await work;
    } finally {
      watch.done();
    }
  }
}
