import type { Container } from '@azure/cosmos';
import { type Clock, systemClock } from '../base/clock.ts';
import { UsageError } from '../base/errors.ts';
import { failureOf } from '../cosmos/failure.ts';
import { splitPath } from '../cosmos/paths.ts';
import { withRetry } from '../cosmos/retry.ts';
import { accountEndpoint } from './account.ts';
import type { Change } from './change.ts';
import { CosmosLeaseStore, leasePrefix } from './cosmos-lease-store.ts';
import { FeedHost, type LeaseStatus } from './feed-host.ts';
import { handlerOf } from './handler.ts';
import { HandlerThreads } from './handler-threads.ts';
import type { LeaseStore } from './lease.ts';
import { type RangePosition, parseContinuation } from './position.ts';
import {
  type ChangeFeedProcessorOptions,
  type ChangeHandler,
  type StartOption,
  checkOptions,
} from './processor-options.ts';
import { Budget } from '../cosmos/budget.ts';
import { readsFrom } from '../cosmos/spending.ts';
import { CosmosChangeSource, type Start } from './source.ts';

export interface ProcessorStatus {
  /** The leases this host looks after. */
  readonly leases: readonly LeaseStatus[];
  /** How many leases there are, at all hosts together, as last listed. */
  readonly known: number;
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
  readonly #threads: HandlerThreads | undefined;
  #opened: Promise<{ host: FeedHost; leases: LeaseStore }> | undefined;
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
   * @throws UsageError `source-missing`, `lease-container-missing`, `multi-region-writes`, `continuation-foreign`,
   *   `processor-stopped`, `handler-module-invalid`
   */
  async start({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    signal?.throwIfAborted();
    if (this.#stopping.signal.aborted)
      throw new UsageError('processor-stopped', 'A processor that was stopped can’t be started again', {
        mend: 'Make a new one: it goes on with the leases of its name.',
      });
    const { host } = await (this.#opened ??= this.#open());
    signal?.addEventListener('abort', () => void this.stop(), { once: true });
    host.halted.catch(async (error: unknown) => {
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
    await this.#host?.stop();
    await this.#threads?.close();
    this.#closed.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop().catch(() => undefined);
  }

  /** Resolves once every lease of this host has been read to what is the end of the feed now, and is acknowledged. */
  async drained({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const since = this.#clock.monotonic();
    const toTheEnd = ({ leases, known }: ProcessorStatus): boolean =>
      known > 0 && leases.every(({ idleSince, checkedAt }) => idleSince !== undefined && (checkedAt ?? 0) > since);
    while (!toTheEnd(this.status())) await this.#clock.sleep(20, signal);
  }

  status(): ProcessorStatus {
    return this.#host?.status() ?? { leases: [], known: 0 };
  }

  /** The stored positions of all ranges, whichever host has them: another processor can start there. */
  async checkpoint(): Promise<RangePosition[]> {
    const { leases } = await (this.#opened ??= this.#open());
    return (await leases.list()).flatMap(({ range, position }) =>
      position === undefined ? [] : [{ range, position }],
    );
  }

  async #open(): Promise<{ host: FeedHost; leases: LeaseStore }> {
    const { source: monitored, instance, epoch = 1, excludedRegions = [], ruPerSecond, order } = this.#options;
    const { handler: given } = this.#options;
    const threads = this.#threads;
    const handler: ChangeHandler = given instanceof URL ? (...call) => threads?.handle(...call) : given;
    const { maxItems = 1_000, targetPageMs = 5_000, checkpoint = 'automatic' } = this.#options;
    const clock = this.#clock;
    const mode = this.#options.mode === 'all-versions-and-deletes' ? 'all-versions' : 'latest-version';
    const { rid, databaseRid, keyPaths } = await describe(monitored);
    await this.#threads?.open();
    const leases = await this.#leaseStore(databaseRid, rid, mode);
    const host = new FeedHost({
      container: monitored.id,
      host: instance,
      source: new CosmosChangeSource(
        monitored,
        rid,
        { name: monitored.id, keyPaths },
        { epoch, mode, pageSize: maxItems, excludedRegions, clock },
      ),
      leases,
      mode,
      start: startOf(this.#options.start ?? 'now', rid, monitored.id),
      handle: handlerOf({ ...this.#options, handler, container: monitored.id, clock }),
      order: typeof order === 'function' ? order : ORDERS[order ?? 'page'],
      concurrency: this.#options.concurrency,
      mostUnacknowledged: this.#options.maxUnacknowledged,
      manual: checkpoint === 'manual',
      pageSize: targetPageMs > 0 ? { most: maxItems, targetMs: targetPageMs } : undefined,
      budget: ruPerSecond === undefined ? undefined : readsFrom(new Budget(ruPerSecond, clock), monitored.id),
      minLeases: this.#options.minLeases,
      maxLeases: this.#options.maxLeases,
      clock,
      ...(this.#options.timings && { timings: this.#options.timings }),
    });
    this.#host = host;
    return { host, leases };
  }

  async #leaseStore(databaseRid: string, rid: string, mode: 'latest-version' | 'all-versions'): Promise<LeaseStore> {
    const { source: monitored, leases, name, instance, accountEndpoint: given, clock } = this.#options;
    const endpoint = await accountEndpoint(monitored);
    if (!('items' in leases)) return leases;
    const prefix = leasePrefix(name, given ?? endpoint, databaseRid, rid);
    return new CosmosLeaseStore({ monitored, leases, host: instance, prefix, mode, ...(clock && { clock }) });
  }
}

const ORDERS: Readonly<Record<'page' | 'partition-key' | 'document', ((change: Change) => string) | undefined>> = {
  page: undefined,
  'partition-key': ({ key }) => JSON.stringify(key),
  document: ({ key, id }) => JSON.stringify([key, id]),
};

/** What has to be known of a container before its feed is read. @throws UsageError `source-missing` */
export async function describe(
  container: Container,
): Promise<{ rid: string; databaseRid: string; keyPaths: readonly (readonly string[])[] }> {
  try {
    const { resource } = await withRetry(() => container.read(), { reads: true });
    const database = await withRetry(() => container.database.read(), { reads: true });
    return {
      rid: resource?._rid ?? '',
      databaseRid: database.resource?._rid ?? '',
      keyPaths: (resource?.partitionKey?.paths ?? []).map(splitPath),
    };
  } catch (error) {
    if (failureOf(error).kind !== 'not-found') throw error;
    throw new UsageError('source-missing', `The container ${container.id} does not exist in ${container.database.id}`, {
      cause: error,
      mend: 'Create it, or name another as the source.',
    });
  }
}

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
