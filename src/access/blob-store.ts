/**
 * A storage container: of the archive, of dead letters, of positions in event hubs. The caller gives a condition with every write, so that a repeated write
 * does no harm. An implementation repeats throttled and broken requests. Throws UsageError `denied`,
 * `storage-container-missing` and `unreachable`.
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
   * none of its bytes. False: there is no such blob. Throws UsageError `immutability-off` if the account has no holds.
   */
  hold(name: string, held: boolean): Promise<boolean>;
  /** Whether the account can hold blobs that it doesn't have yet. */
  canHold(): Promise<boolean>;
  /** The names that begin with `prefix` and of which at least one version has a legal hold, in order, each once. */
  listHeld(prefix: string): AsyncIterable<string>;
  /**
   * Keeps a blob until a time, as a legal hold does. `locked`: no one can end that earlier. Throws UsageError
   * `immutability-off` if the account can't.
   */
  retain(name: string, until: Date, locked: boolean): Promise<void>;
  /** The names that begin with `prefix` and that are kept so after `now`, in order. */
  listRetained(prefix: string, now: number): AsyncIterable<string>;
}
