import { emit } from '../../base/diagnostics.ts';
import { LeaseStalled } from '../leases/lease.ts';
import type { Change, Page } from '../reading/change.ts';
import { within } from './around.ts';
import { type Handle, HandlerTimeout } from './handle.ts';
import { type LeaseSession, PageTooOld } from './lease-session.ts';
import type { TenureOptions } from './reader.ts';
import type { Window, WindowOptions } from './window.ts';

export interface HandlingOptions extends TenureOptions {
  readonly handle: Handle;
  /** True: only what the handler acknowledges counts, whenever it does. */
  readonly manual: boolean;
  /** A change that is handled and not acknowledged for longer gives the lease up. */
  readonly unacknowledgedMs: number;
}

type Acknowledge = (changes: readonly Change[]) => void;

/**
 * Gives the batches of a tenure's windows to the handler: begins none unless the lease is surely this tenure's (L1), gives
 * the lease up where nothing comes of them (L8), and learns how many changes make a page.
 */
export class Handling {
  readonly #session: LeaseSession;
  readonly #options: HandlingOptions;
  readonly #ages = new Set<{ done(): void }>();
  readonly #timings = new WeakMap<Page, { since: number; handled: number }>();

  #reached: number | undefined;

  constructor(session: LeaseSession, options: HandlingOptions) {
    this.#session = session;
    this.#options = options;
  }

  /** Resolves when the batch is handled; rejects when it is to be read again. */
  readonly handle: WindowOptions['handle'] = async ({ changes, page }, acknowledge) => {
    const { container, handle, manual, clock, stallMs } = this.#options;
    // Asked just before the handler begins: each of several that compute takes its time.
    for (let renewal; (renewal = this.#session.fresh());) await renewal;
    this.#session.assertMayBegin();
    const since = clock.monotonic();
    const startedAt = clock.now();
    const acknowledged = manual ? this.#aged(changes, acknowledge) : acknowledge;
    const { id: lease, token } = this.#session.lease;
    const about = { container, lease, changes: changes.length };
    const watch = this.#session.watch('a handler', stallMs);
    const ended = (failure: { error?: unknown }): void =>
      emit('handler:ended', { ...about, startedAt, durationMs: clock.monotonic() - since, ...failure });
    try {
      await within(about, () =>
        handle({ ...page, changes }, this.#session.fence(page), {
          token,
          acknowledge: (some) => {
            watch.progress();
            acknowledged(some);
          },
          progress: () => watch.progress(),
          settled: () => this.#session.settled(),
          confirm: () => this.#session.confirm(),
        }),
      );
      ended({});
    } catch (error) {
      ended({ error });
      throw error;
    } finally {
      watch.done();
    }
    this.#measure(page, changes.length, since);
    const newest = changes.reduce((latest, { at }) => Math.max(latest, at), this.#reached ?? 0);
    if (newest > 0) this.#reached = newest;
  };

  /** When the newest change was written that was handled, milliseconds since 1970. */
  get reached(): number | undefined {
    return this.#reached;
  }

  /** What was handed on and isn't acknowledged comes again, here or elsewhere: says why, and asks for less where it took too long. */
  rejected(error: unknown, { unacknowledged: changes, position }: Window): void {
    const { container, memory } = this.#options;
    if (changes === 0) return;
    const deliveries = memory.deliveriesOf(position);
    emit('feed:rejected', { container, lease: this.#session.lease.id, position, changes, deliveries, error });
    const tooLong = [LeaseStalled, PageTooOld, HandlerTimeout].some((each) => error instanceof each);
    if (tooLong) memory.pageSize.rejected(changes);
  }

  /** Waits for no more acknowledgements of what was handed on until now. */
  forget(): void {
    for (const age of this.#ages) age.done();
    this.#ages.clear();
  }

  /** Acknowledging by hand: the lease is given up where some of the changes stay unacknowledged for too long. */
  #aged(changes: readonly Change[], acknowledge: Acknowledge): Acknowledge {
    const left = new Set(changes);
    const age = this.#session.watch('acknowledging a change', this.#options.unacknowledgedMs);
    this.#ages.add(age);
    return (some) => {
      for (const change of some) left.delete(change);
      if (left.size === 0) age.done();
      acknowledge(some);
    };
  }

  /** A page took as long as it was from the first handler's start to the last one's end. */
  #measure(page: Page, handled: number, since: number): void {
    const timing = this.#timings.get(page) ?? { since, handled: 0 };
    this.#timings.set(page, timing);
    timing.since = Math.min(timing.since, since);
    timing.handled += handled;
    if (timing.handled === page.changes.length)
      this.#options.memory.pageSize.handled(timing.handled, this.#options.clock.monotonic() - timing.since);
  }
}
