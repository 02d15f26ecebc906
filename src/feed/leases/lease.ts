import { MillraceError } from '../../base/errors.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import type { SharedHistory } from './shared-history.ts';

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
  /** Made by each taking; absent where its taker was no host of ours. */
  readonly tenure?: string;
  /** The tenure that it was taken from while its owner wrote it: that one may still act (L1c). */
  readonly takenFrom?: TakenFrom;
  /** Since it was made by a split, until its position has passed it; only lags are counted by it. */
  readonly shared?: readonly SharedHistory[];
  readonly etag: string;
}

export interface TakenFrom {
  readonly owner: string;
  /** Made up where the owner is no host of ours: nobody answers for it. */
  readonly tenure: string;
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
   * Takes a lease as it was listed, for a new tenure; undefined when somebody was quicker. From a live `owner` it is taken
   * though that one wrote it since, and says in `takenFrom` so; from `nobody` (free, or expired) only as it was seen, as
   * any write shows that it is in use, and with the `takenFrom` that it has.
   */
  acquire(lease: Lease, from?: 'nobody' | 'owner'): Promise<Lease | undefined>;
  /** Renews and, with a position, checkpoints in the same write (L9). */
  renew(lease: Lease, position?: string): Promise<Lease>;
  /** The container's physical partitions as they are now. */
  ranges(): Promise<readonly FeedRange[]>;
  /**
   * Creates a free lease for a range, with what its former lease `from` says that we don't know, and what it has in common
   * with other parts of that one; false where there is one. A store may leave out what is `shared`.
   * @throws MillraceError `lease-unreadable` where there is a document of that id and it is no lease
   */
  create(
    range: FeedRange,
    position: string | undefined,
    from?: Lease,
    shared?: readonly SharedHistory[],
  ): Promise<boolean>;
  /** As it is stored, or was a moment ago; undefined where it isn't there. */
  read(lease: Lease): Promise<Lease | undefined>;
  /** Takes `takenFrom` off a lease that this host has: whoever had it before acts no more. */
  takeOver(lease: Lease): Promise<Lease>;
  /**
   * By the owner it was taken from: it acts no more, and came as far as `position`. Nothing happens where the lease
   * doesn't say (any longer) that it was taken from this tenure.
   */
  handOver(lease: Lease, position?: string): Promise<void>;
  /** Deletes a lease that others have taken the place of. */
  remove(lease: Lease): Promise<void>;
  /** Gives the lease up without changing its position. */
  release(lease: Lease): Promise<void>;
}

/** Another host owns the lease now: stop at once, start nothing more (L1). */
export class LeaseLost extends MillraceError<'lease-lost'> {
  constructor(id: string, why: string, cause?: unknown) {
    super('lease-lost', `Lease ${id} is lost: ${why}`, { cause, retryable: true });
  }
}

/** The lease document isn't there any more. No read can say otherwise: what it finds is older than the refused write. */
export class LeaseDeleted extends LeaseLost {
  constructor(id: string, cause?: unknown) {
    super(id, 'it was deleted', cause);
  }
}

/** This host gave the lease up, as nothing came of having it: others take it, if there are any. */
export class LeaseStalled extends LeaseLost {}
