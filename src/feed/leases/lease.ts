import { MillraceError } from '../../base/errors.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import type { SharedHistory } from './shared-history.ts';
import { FEED_ERRORS } from '../errors.ts';

/** The owner and the position of a feed range: one document of the lease container. */
export interface Lease {
  /** Document id, prefix included. */
  readonly id: string;
  /** Its name within the prefix: the partition key range id, or `min-max`. */
  readonly token: string;
  readonly range: FeedRange;
  readonly owner: string | null;
  /** Quoted LSN; absent: no checkpoint yet. */
  readonly position?: string;
  /** A new id for each time that a Millrace host takes the lease. Absent: another kind of host took it. */
  readonly tenure?: string;
  /** The tenure that the lease was taken from while its owner was live. That owner may still act (PROC-L1c). */
  readonly takenFrom?: TakenFrom;
  /** The history that it shares with other leases since a split, as far as its position is behind it. Only lags use it. */
  readonly shared?: readonly SharedHistory[];
  readonly etag: string;
}

export interface TakenFrom {
  readonly owner: string;
  /** A random id if the owner is not a Millrace host. Such an owner never answers. */
  readonly tenure: string;
}

/**
 * Stores leases. Every write has the known ETag as its condition, and the new ETag comes from its answer. Methods throw
 * LeaseLost when another host has the lease, and infrastructure errors.
 */
export interface LeaseStore {
  /**
   * Creates the missing leases, once for all hosts. With `begin`, each lease gets the position that it resolves to
   * (PROC-L4), before the store counts as prepared. Resolves when the store may be listed.
   */
  prepare(signal: AbortSignal, begin?: (range: FeedRange) => Promise<string | undefined>): Promise<void>;
  /**
   * When the store was first prepared; undefined if it never was. With a start from now, a range whose lease has no
   * position (the lease or its first owner vanished) starts at this time. A store that doesn't know leaves it out.
   */
  initializedAt?(): Promise<Date | undefined>;
  list(): Promise<Lease[]>;
  /**
   * Takes a listed lease for a new tenure; undefined if another host was faster. From a live `owner`, it is taken even if
   * the owner has written it since, and `takenFrom` names that owner. From `nobody` (the lease is free or expired), it is
   * taken only if it is unchanged, because any write shows that it is in use; its `takenFrom` stays.
   */
  acquire(lease: Lease, from?: 'nobody' | 'owner'): Promise<Lease | undefined>;
  /** Renews the lease. With a position, the same write stores a checkpoint (PROC-L9). */
  renew(lease: Lease, position?: string): Promise<Lease>;
  /** The container's physical partitions as they are now. */
  ranges(): Promise<readonly FeedRange[]>;
  /**
   * Creates a free lease for a range; false if it exists. It gets the unknown fields of its former lease `from`, and the
   * history that it shares with that lease's other parts. A store may leave out `shared`.
   * @throws MillraceError `lease-unreadable` if there is a document with this id that is not a lease
   */
  create(
    range: FeedRange,
    position: string | undefined,
    from?: Lease,
    shared?: readonly SharedHistory[],
  ): Promise<boolean>;
  /** The stored lease, or as it was a moment ago; undefined if there is none. */
  read(lease: Lease): Promise<Lease | undefined>;
  /** Removes `takenFrom` from a lease of this host, because its former owner no longer acts. */
  takeOver(lease: Lease): Promise<Lease>;
  /**
   * Called by the former owner: it no longer acts, and has reached `position`. Does nothing if `takenFrom` of the lease is
   * not this tenure (any more).
   */
  handOver(lease: Lease, position?: string): Promise<void>;
  /** Deletes a lease that other leases have replaced. @throws LeaseLost if it was written since */
  remove(lease: Lease): Promise<void>;
  /** Gives the lease up without changing its position. */
  release(lease: Lease): Promise<void>;
}

/** This host no longer has the lease: stop immediately, and start no more work (PROC-L1). */
export class LeaseLost extends MillraceError<'lease-lost'> {
  constructor(id: string, why: string, cause?: unknown) {
    super('lease-lost', `Lease ${id} is lost: ${why}`, { ...FEED_ERRORS['lease-lost'], cause });
  }
}

/** The lease document was deleted. A read that still finds it is older than the refused write. */
export class LeaseDeleted extends LeaseLost {
  constructor(id: string, cause?: unknown) {
    super(id, 'it was deleted', cause);
  }
}

/** This host gave the lease up because its work made no progress. Other hosts take it, if there are any. */
export class LeaseStalled extends LeaseLost {}
