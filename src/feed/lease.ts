import { MillraceError } from '../base/errors.ts';
import type { FeedRange } from '../cosmos/ranges.ts';

/** A feed range's owner and position, as one document of the lease container. */
export interface Lease {
  /** Document id, prefix included. */
  readonly id: string;
  /** What tells it within its prefix: the partition key range id, or `min-max`. */
  readonly token: string;
  readonly range: FeedRange;
  readonly owner: string | null;
  /** Quoted LSN; absent: nothing was checkpointed yet. */
  readonly position?: string;
  readonly etag: string;
}

/**
 * Every write is conditional on the ETag in hand, and the new ETag comes from its answer. Methods throw LeaseLost when
 * the lease belongs to someone else now, and infrastructure errors otherwise.
 */
export interface LeaseStore {
  /**
   * Creates what is missing, once for all hosts; with `begin`, each lease at the position that it resolves to (L4), which
   * is asked for before the store counts as prepared. Resolves when the store may be listed.
   */
  prepare(signal: AbortSignal, begin?: (range: FeedRange) => Promise<string | undefined>): Promise<void>;
  /**
   * When the store was first prepared; undefined where it never was. A range whose lease has no position, as it vanished
   * or its first owner did, begins here where a start from now was asked for. A store that can't tell leaves it out.
   */
  initializedAt?(): Promise<Date | undefined>;
  list(): Promise<Lease[]>;
  /**
   * Takes a lease as it was listed; undefined when somebody was quicker. From a live `owner` it is taken though that one
   * wrote it since; from `nobody` (free, or expired) only as it was seen, as any write shows that it is in use.
   */
  acquire(lease: Lease, from?: 'nobody' | 'owner'): Promise<Lease | undefined>;
  /** Renews and, with a position, checkpoints in the same write (L9). */
  renew(lease: Lease, position?: string): Promise<Lease>;
  /** The container's physical partitions as they are now. */
  ranges(): Promise<readonly FeedRange[]>;
  /** Creates a free lease for a range, unless there is one. */
  create(range: FeedRange, position: string | undefined): Promise<void>;
  /** Throws LeaseLost unless the lease is stored as it is in hand. */
  assertOwned(lease: Lease): Promise<void>;
  /** Deletes a lease that others have taken the place of. */
  remove(lease: Lease): Promise<void>;
  /** Gives the lease up without changing its position; silent when it is lost already. */
  release(lease: Lease): Promise<void>;
}

/** Another host owns the lease now: stop at once, start nothing more (L1). */
export class LeaseLost extends MillraceError<'lease-lost'> {
  constructor(id: string, why: string, cause?: unknown) {
    super('lease-lost', `Lease ${id} is lost: ${why}`, { cause, retryable: true });
  }
}
