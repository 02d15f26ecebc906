import type { Container } from '@azure/cosmos';
import type { Clock } from '../../base/clock.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import type { Change as FeedChange } from '../reading/change.ts';
import type { Timings } from '../sharing/feed-host.ts';
import type { LeaseStore } from '../leases/lease.ts';
import type { RangePosition } from '../reading/position.ts';
import type { HandedChange, VersionChange } from './handed-change.ts';
import type { Callbacks } from './notices.ts';

/** What a handler gets beside its changes. */
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
  /** 1, or more where the failure policy `stop` or `park` calls the handler again with changes of the same page. */
  readonly attempt: number;
  /**
   * Call it before a write that must not come from two hosts. It throws where writing is too late: the lease is lost, or
   * in doubt after this process stood still, or the page is older than two minutes. It sends no request: a host of ours
   * that takes the lease waits until this one has answered that it has ended, or until its time is over. Other hosts
   * (.NET, Java, the Functions trigger) don't wait, and don't answer ours, which then waits for the expiration.
   *
   * With `fresh` it resolves once a write has confirmed the lease (11 RU); a read may be old. Then no host of another
   * kind had taken it either.
   */
  assertOwned(): void;
  assertOwned(options: { readonly fresh: true }): Promise<void>;
  /**
   * Acknowledges these changes (default: all of this call), and resolves when the position just before the first
   * unacknowledged change is stored. With `checkpoint: 'manual'` this is the only way to acknowledge; it may be called
   * after the handler has resolved. @throws LeaseLost
   */
  checkpoint(changes?: Handed | readonly Handed[]): Promise<void>;
}

/** A change as a handler got it. */
type Handed = HandedChange<unknown> | VersionChange<unknown>;

/** Gets changes of one range. `C` is `Change<T>`, or `VersionChange<T>` in all versions and deletes. */
export type ChangeHandler<C = HandedChange> = (changes: C[], context: ChangeContext) => Promise<void> | void;

/** What happens to changes whose handler throws. Millrace never skips a change that was not parked. */
export type FailurePolicy<C = HandedChange> =
  /** Millrace reads and delivers the changes again until the handler succeeds, after longer and longer pauses (up to 30 s). */
  | { readonly kind: 'retry' }
  /** After `attempts` the processor stops, and `closed` rejects. */
  | { readonly kind: 'stop'; readonly attempts?: number }
  /**
   * After `attempts` Millrace finds the failing change by halving, and gives it to `park`, which stores it elsewhere. Then
   * the change counts as acknowledged, and the others continue. If `park` throws, all of it is repeated.
   */
  | {
      readonly kind: 'park';
      readonly attempts?: number;
      readonly park: (change: C, error: unknown, context: ChangeContext) => Promise<void> | void;
    };

/** Where ranges begin that have no stored position. A stored position wins over this. */
export type FeedStartOption =
  | 'beginning'
  /**
   * Every change written since then comes. Where the container's partitions were merged, older documents may come too:
   * after a merge the feed's order isn't the order of time, and reading begins before the first change that is new enough.
   */
  | Date
  | VersionsStartOption;

/** The same for all versions and deletes: this feed can't be read from a time in the past. */
export type VersionsStartOption =
  | 'now'
  /** A `continuationToken` of the SDK's iterator over the container. */
  | { readonly continuation: string }
  /** From `ChangeFeedProcessor.checkpoint()` or `readChanges`. */
  | { readonly checkpoint: readonly RangePosition[] };

interface CommonOptions<C> extends Callbacks {
  /** The container whose change feed is read. Its client's preferred regions are used. */
  readonly source: Container;
  /** A container with the key `/id` or `/partitionKey`, in any account (`ensureLeaseContainer` creates one); or a store of your own. */
  readonly leases: Container | LeaseStore;
  /** Hosts with the same name, container and leases share the work. The trigger's `leaseContainerPrefix`; .NET's processor name. */
  readonly name: string;
  /** The name of this host, which no other host has. If it stays the same over restarts, the host resumes its leases immediately. */
  readonly instance: string;
  readonly handler: ChangeHandler<C>;
  /**
   * `page`, the default: one page after the other. With the other values a handler gets changes of one partition key, one
   * document, or one value of a function, in the order of the feed; several values are handled at the same time.
   */
  readonly order?: 'page' | 'partition-key' | 'document' | ((change: C) => string);
  /** Handlers at the same time on one range, with an `order` other than `page`. Default 16. */
  readonly concurrency?: number;
  /** Most changes of a range that are read and not acknowledged, except the last page. Default 10,000. */
  readonly maxUnacknowledged?: number;
  /** `automatic`, the default: a change is acknowledged when its handler resolves. `manual`: by `context.checkpoint`. */
  readonly checkpoint?: 'automatic' | 'manual';
  /** Default `retry`. */
  readonly failure?: FailurePolicy<C>;
  /** After this time the handler's signal is aborted, milliseconds. An error thrown then is a failure like any other. */
  readonly handlerTimeoutMs?: number;
  /** Most changes a page. Default 1,000. */
  readonly maxItems?: number;
  /** Pages grow and shrink so that one takes about this time, milliseconds; 0: a page always has `maxItems`. Default 5,000. */
  readonly targetPageMs?: number;
  /** Most RU/s that reading takes of each physical partition. Default: no limit. */
  readonly ruPerSecond?: number;
  /** The fewest and the most leases of this host, whatever its share is. Default: no bound. */
  readonly minLeases?: number;
  readonly maxLeases?: number;
  /** Regions not to read from. */
  readonly excludedRegions?: readonly string[];
  /** Generation of the container's numbering, part of each change's version. Default 1. */
  readonly epoch?: number;
  /** The account's address in the names of the leases, where other hosts use another address than this client. */
  readonly accountEndpoint?: string;
  readonly timings?: Partial<Timings>;
  readonly clock?: Clock;
}

/** `T` is the type of the container's documents. Millrace doesn't check it: documents come as they are stored. */
export interface ChangeFeedProcessorOptions<T = Record<string, unknown>> extends CommonOptions<HandedChange<T>> {
  readonly mode?: 'latest-version' | undefined;
  /** Default `now`. */
  readonly start?: FeedStartOption;
}

/** The options of a processor that reads all versions and deletes. */
export interface AllVersionsOptions<T = Record<string, unknown>> extends CommonOptions<VersionChange<T>> {
  /** Needs a container with a change feed policy, and leases of its own. */
  readonly mode: 'all-versions-and-deletes';
  /** Default `now`. */
  readonly start?: VersionsStartOption;
}

/** The same where either feed may be read: the types of documents and changes are the caller's concern. */
export interface AnyOptions extends CommonOptions<FeedChange> {
  readonly mode?: 'latest-version' | 'all-versions-and-deletes' | undefined;
  readonly start?: FeedStartOption;
}
