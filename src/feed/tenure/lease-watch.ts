import { emit } from '../../base/telemetry/diagnostics.ts';
import { type SpanOptions, inSpan } from '../../base/telemetry/spans.ts';
import { LeaseStalled } from '../leases/lease.ts';
import type { Change, Page } from '../reading/change.ts';
import { type Handle, HandlerTimeout } from './page-handler.ts';
import { type LeaseTenure, PageTooOld } from './lease-tenure.ts';
import type { TenureOptions } from './reader.ts';
import type { Window, WindowOptions } from './window.ts';

export interface HandlingOptions extends TenureOptions {
  readonly handle: Handle;
  /** True: only changes that the handler acknowledges count, at any time. */
  readonly manual: boolean;
  /** The host gives the lease up if a handled change stays unacknowledged for longer. */
  readonly unacknowledgedMs: number;
}

type Acknowledge = (changes: readonly Change[]) => void;

/**
 * Calls the handler for the page parts of a tenure's windows. It starts a call only if the tenure surely has the lease
 * (PROC-L1), gives the lease up if the calls make no progress (PROC-L8), and adapts the page size.
 */
export class Handling {
  readonly #tenure: LeaseTenure;
  readonly #options: HandlingOptions;
  readonly #ages = new Set<{ done(): void }>();
  readonly #timings = new WeakMap<Page, { since: number; handled: number }>();

  #reached: number | undefined;

  constructor(tenure: LeaseTenure, options: HandlingOptions) {
    this.#tenure = tenure;
    this.#options = options;
  }

  /** Resolves when the page part is handled; rejects if it must be read again. */
  readonly handle: WindowOptions['handle'] = async ({ changes, page }, acknowledge) => {
    const { container, handle, manual, clock, stallMs } = this.#options;
    // Checked just before the call, with no turn between: an earlier handler may have computed for long.
    for (let renewal; (renewal = this.#tenure.fresh());) await renewal;
    this.#tenure.assertMayBegin();
    const since = clock.monotonic();
    const startedAt = clock.now();
    const acknowledged = manual ? this.#aged(changes, acknowledge) : acknowledge;
    const { id: lease, token } = this.#tenure.lease;
    const about = { container, lease, changes: changes.length };
    const watch = this.#tenure.watch('a handler', stallMs);
    const ended = (failure: { error?: unknown }): void =>
      emit('handler:ended', { ...about, startedAt, durationMs: clock.monotonic() - since, ...failure });
    const spanned = (): SpanOptions => ({
      name: 'millrace.page',
      kind: 'consumer',
      attributes: { 'millrace.container': container, 'millrace.lease': lease, 'millrace.changes': changes.length },
      root: true,
      after: page.span,
    });
    try {
      await inSpan(spanned, () =>
        handle({ ...page, changes }, this.#tenure.fence(page), {
          token,
          acknowledge: (some) => {
            watch.progress();
            acknowledged(some);
          },
          progress: () => watch.progress(),
          flush: () => this.#tenure.flush(),
          confirm: () => this.#tenure.confirm(),
        }),
      );
      ended({});
    } catch (error) {
      ended({ error });
      throw error;
    } finally {
      watch.done();
    }
    this.#options.memory.handled += changes.length;
    this.#measure(page, changes.length, since);
    this.#options.memory.joined.handled(changes.length, clock.monotonic() - since);
    const newest = changes.reduce((latest, { at }) => Math.max(latest, at), 0);
    if (newest > 0) this.reach(newest);
  };

  /** All is handled that was written before, milliseconds since 1970: a read found nothing else. */
  reach(at: number): void {
    this.#reached = Math.max(at, this.#reached ?? 0);
  }

  /** Other work of the tenure, under the same rules as a handler. */
  readonly begin = async (work: () => Promise<void>): Promise<void> => {
    for (let renewal; (renewal = this.#tenure.fresh());) await renewal;
    this.#tenure.assertMayBegin();
    const watch = this.#tenure.watch('draining a queue', this.#options.stallMs);
    try {
      await work();
    } finally {
      watch.done();
    }
  };

  /** When the newest handled change was written, or a later read found nothing; milliseconds since 1970. */
  get reached(): number | undefined {
    return this.#reached;
  }

  /**
   * Delivered changes that are not acknowledged will be delivered again, here or by another host. Reports why, and makes
   * the pages smaller if the page took too long.
   */
  rejected(error: unknown, { unacknowledged: changes, pages, position }: Window): void {
    const { container, memory, clock } = this.#options;
    if (changes === 0) return;
    memory.rejection = { at: clock.now(), changes, error };
    const deliveries = memory.deliveriesOf(position);
    emit('feed:rejected', { container, lease: this.#tenure.lease.id, position, changes, deliveries, error });
    const tooLong = [LeaseStalled, PageTooOld, HandlerTimeout].some((each) => error instanceof each);
    if (!tooLong) return;
    memory.pageSize.rejected(Math.ceil(changes / pages));
    // Half of them waited.
    memory.joined.rejected(Math.ceil(changes / 2));
  }

  /** Stops waiting for acknowledgements of the changes delivered so far. */
  forget(): void {
    for (const age of this.#ages) age.done();
    this.#ages.clear();
  }

  /** For manual acknowledgement: gives the lease up if a change stays unacknowledged for too long. */
  #aged(changes: readonly Change[], acknowledge: Acknowledge): Acknowledge {
    const left = new Set(changes);
    const age = this.#tenure.watch('acknowledging a change', this.#options.unacknowledgedMs);
    this.#ages.add(age);
    return (some) => {
      for (const change of some) left.delete(change);
      if (left.size === 0) age.done();
      acknowledge(some);
    };
  }

  /** The time of a page counts from the start of its first handler call to the end of its last one. */
  #measure(page: Page, handled: number, since: number): void {
    const timing = this.#timings.get(page) ?? { since, handled: 0 };
    this.#timings.set(page, timing);
    timing.since = Math.min(timing.since, since);
    timing.handled += handled;
    if (timing.handled === page.changes.length)
      this.#options.memory.pageSize.handled(timing.handled, this.#options.clock.monotonic() - timing.since);
  }
}
