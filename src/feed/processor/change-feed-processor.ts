import { type Clock, systemClock } from '../../base/clock.ts';
import { UsageError, abortReason } from '../../base/errors.ts';
import { accountEndpoint } from '../reading/account.ts';
import type { Change } from '../reading/change.ts';
import { CosmosLeaseStore, leasePrefix } from '../leases/cosmos-lease-store.ts';
import { LagEstimator } from './estimator.ts';
import { DEFAULT_TIMINGS, FeedHost, type LeaseStatus } from '../sharing/feed-host.ts';
import { handlerOf } from './handler.ts';
import { HandlerThreads } from './handler-threads.ts';
import type { LeaseStore } from '../leases/lease.ts';
import { type RangePosition, parseContinuation } from '../reading/position.ts';
import {
  type ChangeFeedProcessorOptions,
  type ChangeHandler,
  type StartOption,
  checkOptions,
} from './processor-options.ts';
import { Budget } from '../../cosmos/budget.ts';
import { Spending } from '../../cosmos/spending.ts';
import { processorStopped } from '../sharing/processor-stopped.ts';
import { type OpenSource, openSource } from '../reading/open-source.ts';
import type { Start } from '../reading/source.ts';
import { until } from '../../base/until.ts';
import { readElsewhere } from './whole-feed.ts';

interface Opened {
  readonly host: FeedHost;
  readonly leases: LeaseStore;
  readonly lags: LagEstimator;
}

export interface ProcessorStatus {
  /** The leases this host looks after. */
  readonly leases: readonly LeaseStatus[];
  /** How many leases there are, at all hosts together, as last listed. */
  readonly known: number;
  /** Why the leases couldn't be looked after when that was last tried: none could be listed, or one can't be read. */
  readonly failure: unknown;
}

/**
 * Reads a container's change feed together with other hosts, at least once and in order, and hands it to a handler. What
 * it promises is in docs/SPEC-processor.md; docs/processor.md shows its use.
 *
 * @example
 * await using processor = new ChangeFeedProcessor({ source, leases, name: 'mailer', instance: hostname(), handler });
 * await processor.start();
 * await processor.closed;
 */
export class ChangeFeedProcessor implements AsyncDisposable {
  readonly #options: ChangeFeedProcessorOptions;
  readonly #clock: Clock;
  readonly #closed = Promise.withResolvers<void>();
  readonly #stopping = new AbortController();
  /** Aborted with the reason why nothing is read here any more. */
  readonly #over = new AbortController();
  readonly #threads: HandlerThreads | undefined;
  #opened: Promise<Opened> | undefined;
  #host: FeedHost | undefined;

  /** @throws UsageError `processor-option-invalid` */
  constructor(options: ChangeFeedProcessorOptions) {
    checkOptions(options);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const { handler, checkpoint } = options;
    this.#threads = handler instanceof URL ? new HandlerThreads(handler, checkpoint === 'manual') : undefined;
    this.#closed.promise.catch(() => undefined);
  }

  /** Resolves when it was stopped; rejects with `handler-halted` when its failure policy stopped it. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /**
   * Begins; resolves when the leases are prepared and the first are taken. Where the signal is aborted, it stops.
   * @throws UsageError `container-missing`, `lease-container-missing`, `multi-region-writes`, `continuation-foreign`,
   *   `processor-stopped`, `handler-module-invalid`
   */
  async start({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    signal?.throwIfAborted();
    if (this.#stopping.signal.aborted) throw processorStopped('can’t be started again');
    const { host } = await (this.#opened ??= this.#open());
    signal?.addEventListener('abort', () => void this.stop(), { once: true });
    host.halted.catch(async (error: unknown) => {
      this.#over.abort(error);
      await host.stop();
      await this.#threads?.close();
      this.#closed.reject(error);
    });
    if (this.#stopping.signal.aborted || signal?.aborted) return this.stop();
    await host.start();
  }

  /**
   * Lets running handlers end, stores how far they got, and offers the leases to the other hosts, which take them at once.
   * It waits `timings.stopMs` at most (30 s), also where the lease container can't be reached: then the handlers' signals
   * are aborted, and the leases expire.
   */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#over.abort(processorStopped('reads nothing to its end'));
    await this.#host?.stop();
    await this.#threads?.close();
    this.#closed.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop().catch(() => undefined);
  }

  /**
   * Resolves once the whole feed has been read to its end and everything is acknowledged, whichever hosts have its ranges,
   * this one or others: of the leases of others, and of free ones, by their stored positions. While changes keep coming it
   * waits for a moment in which none is left. A range that nobody reads keeps it waiting.
   * @throws UsageError `processor-stopped` where this processor was stopped before; MillraceError `handler-halted`
   */
  async drained({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    this.#assertNotStopped();
    const { leases, lags } = await (this.#opened ??= this.#open());
    const since = this.#clock.monotonic();
    const { pollMs } = { ...DEFAULT_TIMINGS, ...this.#options.timings };
    const over = signal ? AbortSignal.any([signal, this.#over.signal]) : this.#over.signal;
    for (;;) {
      // What is read here shows at once, and costs nothing to ask.
      while (!this.status().leases.every((lease) => isRead(lease, since)))
        await until(this.#clock.sleep(20, over), over);
      if (await until(readElsewhere(leases, lags, this.status().leases), over)) return;
      await until(this.#clock.sleep(pollMs, over), over);
    }
  }

  #assertNotStopped(): void {
    if (this.#over.signal.aborted) throw abortReason(this.#over.signal);
  }

  status(): ProcessorStatus {
    return this.#host?.status() ?? { leases: [], known: 0, failure: undefined };
  }

  /** The stored positions of all ranges, whichever host has them: another processor can start there. */
  async checkpoint(): Promise<RangePosition[]> {
    const { leases } = await (this.#opened ??= this.#open());
    return (await leases.list()).flatMap(({ range, position }) =>
      position === undefined ? [] : [{ range, position }],
    );
  }

  async #open(): Promise<Opened> {
    const { source: monitored, instance, epoch = 1, excludedRegions = [], ruPerSecond, order } = this.#options;
    const { handler: given } = this.#options;
    const threads = this.#threads;
    const handler: ChangeHandler = given instanceof URL ? (...call) => threads?.handle(...call) : given;
    const { maxItems = 1_000, targetPageMs = 5_000, checkpoint = 'automatic' } = this.#options;
    const clock = this.#clock;
    const mode = this.#options.mode === 'all-versions-and-deletes' ? 'all-versions' : 'latest-version';
    const opened = await openSource(monitored, { epoch, mode, pageSize: maxItems, excludedRegions, clock });
    const { rid, source } = opened;
    await this.#threads?.open();
    const leases = await this.#leaseStore(opened);
    const host = new FeedHost({
      container: monitored.id,
      host: instance,
      source,
      leases,
      mode,
      start: startOf(this.#options.start ?? 'now', rid, monitored.id),
      handle: handlerOf({ ...this.#options, handler, container: monitored.id, clock }),
      order: typeof order === 'function' ? order : ORDERS[order ?? 'page'],
      concurrency: this.#options.concurrency,
      mostUnacknowledged: this.#options.maxUnacknowledged,
      manual: checkpoint === 'manual',
      pageSize: targetPageMs > 0 ? { most: maxItems, targetMs: targetPageMs } : undefined,
      budget:
        ruPerSecond === undefined
          ? undefined
          : new Spending(monitored.database, new Budget(ruPerSecond, clock), 'live', clock).reading(monitored.id),
      minLeases: this.#options.minLeases,
      maxLeases: this.#options.maxLeases,
      clock,
      ...(this.#options.timings && { timings: this.#options.timings }),
    });
    this.#host = host;
    const lags = new LagEstimator({
      container: monitored,
      rid,
      mode,
      clock,
      ...(this.#options.start === 'beginning' && { start: 'beginning' }),
    });
    return { host, leases, lags };
  }

  async #leaseStore({ databaseRid, rid, mode }: OpenSource): Promise<LeaseStore> {
    const { source: monitored, leases, name, instance, accountEndpoint: given, clock } = this.#options;
    const endpoint = await accountEndpoint(monitored);
    if (!('items' in leases)) return leases;
    const prefix = leasePrefix(name, given ?? endpoint, databaseRid, rid);
    return new CosmosLeaseStore({ monitored, leases, host: instance, prefix, mode, ...(clock && { clock }) });
  }
}

/** To what was the end of its feed after a moment, monotonic. */
const isRead = ({ idleSince, checkedAt }: LeaseStatus, since: number): boolean =>
  idleSince !== undefined && (checkedAt ?? 0) > since;

const ORDERS: Readonly<Record<'page' | 'partition-key' | 'document', ((change: Change) => string) | undefined>> = {
  page: undefined,
  'partition-key': ({ key }) => JSON.stringify(key),
  document: ({ key, id }) => JSON.stringify([key, id]),
};

/** @throws UsageError `continuation-foreign`, `continuation-invalid` */
export function startOf(start: StartOption, rid: string, container: string): Start {
  if (typeof start === 'string' || start instanceof Date) return start;
  if ('checkpoint' in start) return start.checkpoint;
  const { rid: of, positions } = parseContinuation(start.continuation);
  if (of === undefined || of === rid) return positions;
  throw new UsageError(
    'continuation-foreign',
    `The continuation is of another container than ${container}, or of it before it was made anew`,
    {
      mend: 'Start from the beginning, a time or now; stored positions are ignored by a container made anew.',
    },
  );
}
