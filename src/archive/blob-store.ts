/**
 * A storage container as the archive uses it. The caller gives a condition with every write, so that a repeated write
 * does no harm. An implementation repeats throttled and broken requests. Throws UsageError `storage-denied`,
 * `storage-container-missing` and `storage-unreachable`.
 */
export interface BlobStore {
  /**
   * Writes the whole blob. With `ifMatch` null, only if it doesn't exist yet; otherwise only over the blob with that ETag.
   * False: the condition failed, perhaps because an earlier attempt of this call has written the blob. Read it again.
   */
  put(name: string, bytes: Uint8Array, ifMatch: string | null): Promise<boolean>;
  /** The whole blob; undefined if there is none. */
  read(name: string): Promise<StoredBlob | undefined>;
  /** Names that begin with `prefix`, in order. */
  list(prefix: string): AsyncIterable<string>;
}

export interface StoredBlob {
  readonly bytes: Uint8Array;
  readonly etag: string;
}

/** A storage container from which blobs can be removed for good. */
export interface ErasableStore extends BlobStore {
  /** As `list`, with the blobs of which only earlier versions are left. Each name comes once. */
  listEver(prefix: string): AsyncIterable<string>;
  /** The whole blob, or its last version if it was deleted; undefined if nothing is left of it. */
  readEver(name: string): Promise<StoredBlob | undefined>;
  /**
   * Removes a blob with its snapshots and versions. What is gone already counts as removed. `held`: a legal hold or an
   * immutability policy forbids it for at least one of them. What soft delete keeps can't be seen here.
   */
  remove(name: string): Promise<'removed' | 'held'>;
}

/** A storage account that keeps a blob on demand. */
export interface HoldingStore extends ErasableStore {
  /**
   * Sets a legal hold on a blob, or takes it from all of its versions. While one has it, the store removes and overwrites
   * none of its bytes. False: there is no such blob. Throws UsageError `hold-refused` if the account has no holds.
   */
  hold(name: string, held: boolean): Promise<boolean>;
  /** Whether the account can hold blobs that it doesn't have yet. */
  canHold(): Promise<boolean>;
  /** The names that begin with `prefix` and of which at least one version has a legal hold, in order, each once. */
  listHeld(prefix: string): AsyncIterable<string>;
  /**
   * Keeps a blob until a time, as a legal hold does. `locked`: nobody can end that earlier. Throws UsageError
   * `retention-refused` if the account can't.
   */
  retain(name: string, until: Date, locked: boolean): Promise<void>;
  /** The names that begin with `prefix` and that are kept so after `now`, in order. */
  listRetained(prefix: string, now: number): AsyncIterable<string>;
}

/** From the warmest to the coolest, as the account names them. */
export const ACCESS_TIERS = ['Hot', 'Cool', 'Cold', 'Archive'] as const;
export type AccessTier = (typeof ACCESS_TIERS)[number];

export interface TieredBlob {
  readonly name: string;
  readonly tier: AccessTier;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly writtenAt: number;
  /** Since when it is in its tier, milliseconds since 1970. */
  readonly tierSince: number;
  /** It is on its way from the Archive tier, in which it still is. */
  readonly rehydrating: boolean;
}

export type RehydratePriority = 'Standard' | 'High';

/** A storage account with access tiers. In the Archive tier a blob can't be read. */
export interface TieringStore extends BlobStore {
  /** The blobs whose names begin with `prefix`, in order. */
  tiers(prefix: string): AsyncIterable<TieredBlob>;
  /**
   * Moves a blob to a tier; from the Archive tier it only begins, and takes hours. False: there is no such blob. Throws
   * UsageError `tier-refused`.
   */
  setTier(name: string, tier: AccessTier, priority?: RehydratePriority): Promise<boolean>;
  /** The redundancy of the account, such as `Standard_ZRS`; undefined: the identity may not know. */
  redundancy(): Promise<string | undefined>;
}

/** A file that is written whole, piece by piece, and carries a note of what it was made of. */
export interface NotedFile {
  readonly name: string;
  readonly etag: string;
  readonly note: string | undefined;
}

/** A storage container with files that are replaced: readers see the one before or the new one. */
export interface FileStore extends BlobStore {
  /** The files whose names begin with `prefix`, in order. */
  files(prefix: string): AsyncIterable<NotedFile>;
  /**
   * Writes the pieces as one file over the one with that ETag; null: only if there is none. False: the condition failed,
   * perhaps because an earlier attempt of this call has written it.
   */
  putFile(
    name: string,
    pieces: AsyncIterable<Uint8Array>,
    how: { readonly ifMatch: string | null; readonly note: string },
  ): Promise<boolean>;
}

/** The storage account of an archive, with all that it can do. */
export type AccountStore = HoldingStore & TieringStore & FileStore;
