import type { Clock } from '../../base/clock.ts';
import { emit } from '../../base/telemetry/diagnostics.ts';
import { type EndedSpan, type SpanCarrier, endedSpan } from '../../base/telemetry/spans.ts';
import { until } from '../../base/until.ts';
import type { Page } from '../reading/change.ts';
import { type ChangeSource, type Start, anchor } from '../reading/source.ts';
import type { TakeForReading } from './page-handler.ts';
import type { LeaseTenure } from './lease-tenure.ts';
import type { RangeMemory } from './range-memory.ts';

/** Options of every class that works for a tenure. */
export interface TenureOptions {
  /** The monitored container's name, for messages. */
  readonly container: string;
  readonly memory: RangeMemory;
  /** The host gives the lease up if a read or a handler takes longer (PROC-L8). */
  readonly stallMs: number;
  readonly clock: Clock;
}

export interface TenureReaderOptions extends TenureOptions {
  readonly source: ChangeSource;
  /** Where to start a range without a position. */
  readonly start: Start;
  /** When this processor was first started on any host, if that was before this start. `now` then means that time. */
  readonly startedBefore?: Date | undefined;
  /** Waits until a page of a range may be read. */
  readonly budget?: TakeForReading | undefined;
}

/** Reads a lease's range for one tenure. It stores no position: the caller passes it. */
export class Reader {
  readonly #tenure: LeaseTenure;
  readonly #options: TenureReaderOptions;
  #lastReadAt = 0;

  constructor(tenure: LeaseTenure, options: TenureReaderOptions) {
    this.#tenure = tenure;
    this.#options = options;
  }

  /** When the last read was started, monotonic. */
  get lastReadAt(): number {
    return this.#lastReadAt;
  }

  /** Call it before the first read, and after each failure (PROC-L3c). */
  async prepare(signal: AbortSignal): Promise<void> {
    await this.#watched('preparing to read', until(this.#options.source.prepare(signal), signal));
  }

  /** The start position of a range without a position; empty: the beginning. */
  async begin(signal: AbortSignal): Promise<string> {
    const { source, start, startedBefore } = this.#options;
    if (start === 'beginning') return '';
    const resolved = anchor(source, this.#tenure.lease.range, start, startedBefore, signal);
    return this.#watched('finding the start', until(resolved, signal));
  }

  /** The page after a position, once the budget allows; undefined if there is nothing new. */
  async read(from: string, signal: AbortSignal): Promise<(Page & { readonly next: string }) | undefined> {
    const { container, source, budget, clock, memory } = this.#options;
    const { id: lease, range } = this.#tenure.lease;
    const grant = await budget?.(range, signal);
    this.#lastReadAt = clock.monotonic();
    const startedAt = clock.now();
    let charge: number | undefined;
    try {
      const reading = source.read(range, from, signal, memory.pageSize.size, grant);
      const page = await this.#watched('a read', until(reading, signal));
      ({ charge } = page);
      if (page.next === from && page.changes.length === 0) return undefined;
      emit('feed:page', { container, lease, changes: page.changes.length, charge });
      if (page.changes.length === 0) return page;
      const span = this.#spanned(startedAt, {
        attributes: { 'millrace.changes': page.changes.length, 'millrace.charge': page.charge },
      });
      return span ? { ...page, span } : page;
    } catch (error) {
      if (!signal.aborted) this.#spanned(startedAt, { attributes: {}, failure: { error } });
      throw error;
    } finally {
      grant?.account(charge);
    }
  }

  /** A span of a read that returned changes, or that failed. One that found nothing has none: hosts poll. */
  #spanned(
    startedAt: number,
    { attributes, failure }: Pick<EndedSpan, 'attributes' | 'failure'>,
  ): SpanCarrier | undefined {
    const { container, clock } = this.#options;
    return endedSpan(() => ({
      name: 'millrace.read',
      kind: 'client',
      root: true,
      attributes: { 'millrace.container': container, 'millrace.lease': this.#tenure.lease.id, ...attributes },
      startedAt,
      endedAt: clock.now(),
      failure,
    }));
  }

  async #watched<T>(what: string, work: Promise<T>): Promise<T> {
    const watch = this.#tenure.watch(what, this.#options.stallMs);
    try {
      return await work;
    } finally {
      watch.done();
    }
  }
}
