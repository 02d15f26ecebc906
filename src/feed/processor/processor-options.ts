import type { Container } from '@azure/cosmos';
import { UsageError } from '../../base/errors.ts';
import type { Clock } from '../../base/clock.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import type { Change } from '../reading/change.ts';
import type { Timings } from '../sharing/feed-host.ts';
import type { LeaseStore } from '../leases/lease.ts';
import type { RangePosition } from '../reading/position.ts';

/** What a handler is told beside its changes. */
export interface ChangeContext {
  readonly range: FeedRange;
  /** The lease's token: a partition key range id, or `min-max`. */
  readonly leaseToken: string;
  /** Aborted when the lease is lost or the handler has taken `handlerTimeoutMs`: stop, and write nothing more. */
  readonly signal: AbortSignal;
  /** Request units of the page that these changes came in. */
  readonly charge: number;
  /** Reads of the source with this session token are not older than these changes. */
  readonly sessionToken: string | undefined;
  /** 1, or more where the same changes are handed over again after a failure. */
  readonly attempt: number;
  /**
   * Throws where writing is too late: the lease is lost, or in doubt after this process stood still, or the page is
   * older than two minutes. To be called before a write that must not come from two hosts. It asks nothing: a host of
   * ours that takes the lease waits until this one has answered that it does no more, or can't any longer. Others (.NET,
   * Java, the Functions trigger) don't wait, and don't answer one of ours, which then waits for the expiration.
   *
   * With `fresh` it resolves once a write has confirmed the lease (11 RU), as a read may be old: also no host of another
   * kind had taken it by then.
   */
  assertOwned(): void;
  assertOwned(options: { readonly fresh: true }): Promise<void>;
  /**
   * Acknowledges these changes (default: all that this call was given), and resolves when everything before the first
   * that isn't acknowledged is stored. With `checkpoint: 'manual'` nothing else does; it may be called after the handler
   * has resolved. @throws LeaseLost
   */
  checkpoint(changes?: Change | readonly Change[]): Promise<void>;
}

export type ChangeHandler = (changes: readonly Change[], context: ChangeContext) => Promise<void> | void;

/** What becomes of changes whose handler throws. Nothing is ever skipped that was not parked. */
export type FailurePolicy =
  /** Read and handed over again, later each time (up to 30 s), until it succeeds. */
  | { readonly kind: 'retry' }
  /** After `attempts` the processor stops, and `closed` rejects. */
  | { readonly kind: 'stop'; readonly attempts?: number }
  /**
   * After `attempts` the culprit is found by halving, and given to `park`, which makes it durable elsewhere; then it
   * counts as acknowledged, and the others go on. Where `park` throws it is all done again.
   */
  | {
      readonly kind: 'park';
      readonly attempts?: number;
      readonly park: (change: Change, error: unknown, context: ChangeContext) => Promise<void> | void;
    };

/** Where ranges begin that have no stored position; once they have one, it counts and this is ignored. */
export type StartOption =
  | 'beginning'
  | 'now'
  /**
   * Nothing that was written since is left out. Where the container's partitions were merged, older documents may come
   * too: after a merge the feed's order isn't that of time, and reading begins before the first that is new enough.
   */
  | Date
  /** A `continuationToken` of the SDK's iterator over the container. */
  | { readonly continuation: string }
  /** Of `ChangeFeedProcessor.checkpoint()` or `readChanges`. */
  | { readonly checkpoint: readonly RangePosition[] };

export interface ChangeFeedProcessorOptions {
  /** The container whose change feed is read. Its client's preferred regions are used. */
  readonly source: Container;
  /** A container with the key `/id` or `/partitionKey`, in any account; or a store of your own. */
  readonly leases: Container | LeaseStore;
  /** Hosts with the same name, container and leases share the work. The trigger's `leaseContainerPrefix`; .NET's processor name. */
  readonly name: string;
  /** Tells this host from the others, and should outlive it: after a restart it goes on with its leases at once. */
  readonly instance: string;
  /**
   * A function, or the URL of a module whose default export it is: that is run in threads of its own, where it may compute
   * for as long as `timings.stallMs`, and is ended with its thread where it never ends.
   */
  readonly handler: ChangeHandler | URL;
  /** Default `now`. */
  readonly start?: StartOption;
  /** `all-versions-and-deletes` needs a container that keeps them and leases of its own, and starts now or at a checkpoint. Default `latest-version`. */
  readonly mode?: 'latest-version' | 'all-versions-and-deletes';
  /**
   * `page`, the default: a page after the other. Else the handler gets changes of one value at a time (a partition key, a
   * document, or what a function says), in the order of the feed, and several values at once.
   */
  readonly order?: 'page' | 'partition-key' | 'document' | ((change: Change) => string);
  /** Handlers at once on one range, with an `order` other than `page`. Default 16. */
  readonly concurrency?: number;
  /** Most changes of a range that are read and not acknowledged, but for the last page. Default 10,000. */
  readonly maxUnacknowledged?: number;
  /** `automatic`, the default: changes are acknowledged when their handler resolves. `manual`: by `context.checkpoint`. */
  readonly checkpoint?: 'automatic' | 'manual';
  /** Default `retry`. */
  readonly failure?: FailurePolicy;
  /** After so long the handler's signal is aborted, milliseconds; what it throws then is a failure like any other. */
  readonly handlerTimeoutMs?: number;
  /** Most changes a page. Default 1,000. */
  readonly maxItems?: number;
  /** Pages grow and shrink so that they are handled in about this time, milliseconds; 0: they are always `maxItems`. Default 5,000. */
  readonly targetPageMs?: number;
  /** Most RU/s that reading takes of each physical partition. Default: no limit. */
  readonly ruPerSecond?: number;
  /** Leases this host has at least and at most, whatever its share is. Default: neither. */
  readonly minLeases?: number;
  readonly maxLeases?: number;
  /** Regions not to read from. */
  readonly excludedRegions?: readonly string[];
  /** Generation of the container's numbering, part of each change's version. Default 1. */
  readonly epoch?: number;
  /** The account's address as other hosts name it, where they go by another than this client's. */
  readonly accountEndpoint?: string;
  readonly timings?: Partial<Timings>;
  readonly clock?: Clock;
}

/** @throws UsageError `processor-option-invalid` naming the option */
export function checkOptions(options: ChangeFeedProcessorOptions): void {
  const { name, instance, start, mode, failure, timings = {}, minLeases = 0, maxLeases = 0 } = options;
  if (typeof options.handler !== 'function' && !(options.handler instanceof URL))
    throw invalid(
      'handler',
      'is no function and no URL',
      'Give a function of (changes, context), or the URL of a module whose default export is one.',
    );
  if (typeof name !== 'string' || /[/\\#?]/.test(name))
    throw invalid(
      'name',
      'has to be text without / \\ # ?',
      'Name the processor; it is part of the ids of its leases.',
    );
  if (typeof instance !== 'string' || instance.trim() === '')
    throw invalid(
      'instance',
      'is empty',
      'Name this host, so that it is the same after a restart: a host or pod name.',
    );
  const least: readonly (readonly [keyof ChangeFeedProcessorOptions, number])[] = [
    ['concurrency', 1],
    ['maxUnacknowledged', 1],
    ['maxItems', 1],
    ['targetPageMs', 0],
    ['handlerTimeoutMs', 1],
    ['ruPerSecond', 1],
    ['minLeases', 0],
    ['maxLeases', 0],
    ['epoch', 1],
  ];
  for (const [option, from] of least) {
    const value = options[option];
    if (value !== undefined && !(typeof value === 'number' && Number.isFinite(value) && value >= from))
      throw invalid(option, `is ${JSON.stringify(value)}`, `Give a number from ${from} up.`);
  }
  if (maxLeases > 0 && minLeases > maxLeases) throw invalid('minLeases', 'is above maxLeases', 'Lower it.');
  if (mode === 'all-versions-and-deletes' && (start === 'beginning' || start instanceof Date))
    throw invalid('start', 'lies in the past', 'All versions and deletes are read from now, or from a checkpoint.');
  if (start instanceof Date && Number.isNaN(start.getTime()))
    throw invalid('start', 'is no time', 'Give a valid Date.');
  if (failure && failure.kind !== 'retry' && !((failure.attempts ?? 1) >= 1))
    throw invalid('failure', 'has no attempts', 'Give at least one.');
  for (const [timing, value] of Object.entries(timings)) {
    const mayBeZero = timing === 'checkpointMs';
    if (!(value > 0 || (mayBeZero && value === 0)))
      throw invalid(`timings.${timing}`, `is ${value}`, `Give milliseconds ${mayBeZero ? 'from 0 up' : 'above 0'}.`);
  }
  const { renewMs, expirationMs } = timings;
  if (renewMs !== undefined && expirationMs !== undefined && renewMs * 2 > expirationMs)
    throw invalid('timings.renewMs', 'leaves no second try', 'Keep it at or below half of timings.expirationMs.');
}

const invalid = (option: string, why: string, mend: string) =>
  new UsageError('processor-option-invalid', `The option ${option} ${why}`, { mend });
