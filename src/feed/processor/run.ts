import { type Clock, systemClock } from '../../base/clock.ts';
import { abortReason } from '../../base/errors.ts';
import { once } from '../../base/once.ts';
import { until } from '../../base/until.ts';
import { Budget } from '../../cosmos/budget/limit.ts';
import { ridOf } from '../../cosmos/rid.ts';
import { Spending } from '../../cosmos/budget/meter.ts';
import { CosmosLeaseStore, leasePrefix } from '../leases/cosmos-lease-store.ts';
import type { LeaseStore } from '../leases/lease.ts';
import { accountEndpoint } from '../reading/account.ts';
import type { Change } from '../reading/change.ts';
import { type OpenSource, openSource } from '../reading/open-source.ts';
import type { RangePosition } from '../reading/position.ts';
import { DEFAULT_TIMINGS, FeedHost, type LeaseStatus } from '../sharing/feed-host.ts';
import { processorStopped } from '../sharing/processor-stopped.ts';
import { LagEstimator } from './lag-estimator.ts';
import { handlerOf } from './user-handler.ts';
import { Notices } from './notices.ts';
import type { AnyOptions } from './processor-options.ts';
import { feedStartOf } from './start-of.ts';
import { readElsewhere } from './whole-feed.ts';

export interface ProcessorStatus {
  /** The leases of this host. */
  readonly leases: readonly LeaseStatus[];
  /** How many leases all hosts have together, by the last listing. */
  readonly known: number;
  /** The error of the last listing, if the leases could not be listed or one of them can't be read. */
  readonly failure: unknown;
}

interface Opened extends OpenSource {
  readonly leases: LeaseStore;
  readonly lags: LagEstimator;
}

/** One run of a processor, from a start to its stop. The next run opens everything again. */
export class ProcessorRun {
  readonly #options: AnyOptions;
  readonly #clock: Clock;
  /** Resolves when the previous run has ended, so that two runs never have the same lease. */
  readonly #before: Promise<void>;
  readonly #closed = Promise.withResolvers<void>();
  /** Aborted when this run stops reading, with the reason. */
  readonly #over = new AbortController();
  readonly #open = once(() => this.#openFeed());
  #host: FeedHost | undefined;
  #starting: Promise<void> | undefined;
  #ending: Promise<void> | undefined;

  constructor(options: AnyOptions, before: Promise<void> = Promise.resolve()) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#before = before;
    this.#closed.promise.catch(() => undefined);
  }

  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  get isOver(): boolean {
    return this.#over.signal.aborted;
  }

  /** Resolves when a run that is over has released everything; immediately if the run isn't over. Never rejects. */
  get ended(): Promise<void> {
    return this.#ending?.catch(() => undefined) ?? Promise.resolve();
  }

  start(signal?: AbortSignal): Promise<void> {
    signal?.addEventListener('abort', () => void this.stop(), { once: true, signal: this.#over.signal });
    return (this.#starting ??= this.#start());
  }

  async #start(): Promise<void> {
    try {
      await this.#before;
      if (!this.isOver) await this.#begin();
    } catch (error) {
      // A start that `stop` interrupts has not failed.
      if (!this.isOver) {
        await this.#end(error, error);
        throw error;
      }
    }
    if (this.isOver) await this.stop();
  }

  async #begin(): Promise<void> {
    const host = this.#hostOf(await this.#open());
    if (this.isOver) return;
    this.#host = host;
    host.halted.catch((error: unknown) => this.#end(error, error));
    await host.start();
  }

  stop(): Promise<void> {
    return this.#end(processorStopped('can’t be drained'));
  }

  /** Ends the run. Only the first call counts. If it has a failure, `closed` rejects with the failure. */
  #end(reason: unknown, failure?: unknown): Promise<void> {
    this.#over.abort(reason);
    return (this.#ending ??= (async () => {
      // If this run never began, an earlier run may still have the leases.
      await this.#before;
      await this.#host?.stop();
      if (failure === undefined) this.#closed.resolve();
      else this.#closed.reject(failure);
    })());
  }

  async drained(signal?: AbortSignal): Promise<void> {
    if (this.isOver) throw abortReason(this.#over.signal);
    const { leases, lags } = await this.#open();
    const since = this.#clock.monotonic();
    const { pollMs } = { ...DEFAULT_TIMINGS, ...this.#options.timings };
    const over = signal ? AbortSignal.any([signal, this.#over.signal]) : this.#over.signal;
    for (;;) {
      // First the leases of this host: their state is in memory, so no request is needed.
      while (!this.status().leases.every((lease) => isRead(lease, since)))
        await until(this.#clock.sleep(20, over), over);
      if (await until(readElsewhere(leases, lags, this.status().leases), over)) return;
      await until(this.#clock.sleep(pollMs, over), over);
    }
  }

  status(): ProcessorStatus {
    return this.#host?.status() ?? { leases: [], known: 0, failure: undefined };
  }

  async checkpoint(): Promise<RangePosition[]> {
    const { leases } = await this.#open();
    return (await leases.list()).flatMap(({ range, position }) =>
      position === undefined ? [] : [{ range, position }],
    );
  }

  async #openFeed(): Promise<Opened> {
    const { source: container, epoch = 1, excludedRegions = [], maxItems = 1_000, start } = this.#options;
    const clock = this.#clock;
    const mode = this.#options.mode === 'all-versions-and-deletes' ? 'all-versions' : 'latest-version';
    const opened = await openSource(container, { epoch, mode, pageSize: maxItems, excludedRegions, clock });
    const { rid } = opened;
    const lags = new LagEstimator({ container, rid, mode, clock, ...(start === 'beginning' && { start }) });
    return { ...opened, leases: await this.#leaseStore(opened), lags };
  }

  async #leaseStore({ rid, mode }: OpenSource): Promise<LeaseStore> {
    const { source: monitored, leases, name, instance, accountEndpoint: given, clock } = this.#options;
    const endpoint = await accountEndpoint(monitored);
    if (!('items' in leases)) return leases;
    const prefix = leasePrefix(name, given ?? endpoint, await ridOf(monitored.database), rid);
    return new CosmosLeaseStore({ monitored, leases, host: instance, prefix, mode, ...(clock && { clock }) });
  }

  #hostOf({ rid, mode, source, leases }: Opened): FeedHost {
    const { source: monitored, instance, ruPerSecond, order, timings } = this.#options;
    const { maxItems = 1_000, targetPageMs = 5_000, checkpoint = 'automatic' } = this.#options;
    const clock = this.#clock;
    const container = monitored.id;
    const notices = new Notices(container, this.#options, (order ?? 'page') === 'page');
    return new FeedHost({
      container,
      host: instance,
      source,
      leases,
      mode,
      start: feedStartOf(this.#options.start ?? 'now', rid, container),
      handle: handlerOf({ ...this.#options, container, clock, notices }),
      listener: notices,
      order: typeof order === 'function' ? order : ORDERS[order ?? 'page'],
      concurrency: this.#options.concurrency,
      mostUnacknowledged: this.#options.maxUnacknowledged,
      manual: checkpoint === 'manual',
      pageSize: targetPageMs > 0 ? { most: maxItems, targetMs: targetPageMs } : undefined,
      budget:
        ruPerSecond === undefined
          ? undefined
          : new Spending(monitored.database, new Budget(ruPerSecond, clock), 'live', clock).reading(container),
      minLeases: this.#options.minLeases,
      maxLeases: this.#options.maxLeases,
      clock,
      ...(timings && { timings }),
    });
  }
}

/** Whether this host has read the lease's feed to its end after `since` (monotonic milliseconds). */
const isRead = ({ idleSince, checkedAt }: LeaseStatus, since: number): boolean =>
  idleSince !== undefined && (checkedAt ?? 0) > since;

const ORDERS: Readonly<Record<'page' | 'partition-key' | 'document', ((change: Change) => string) | undefined>> = {
  page: undefined,
  'partition-key': ({ key }) => JSON.stringify(key),
  document: ({ key, id }) => JSON.stringify([key, id]),
};
