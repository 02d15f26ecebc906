/**
 * What the archive asks of a storage container. Both conditions and idempotence are the caller's: nothing here is
 * written blindly. Throttled and broken requests are sent again inside. Throws UsageError `storage-denied`,
 * `storage-container-missing` and `storage-unreachable`.
 */
export interface BlobStore {
  /**
   * Writes the whole blob: with `ifMatch` null only where there is none, else only over that ETag. False: the condition
   * failed, or the outcome of an earlier try is unknown and this one met it; read again.
   */
  put(name: string, bytes: Uint8Array, ifMatch: string | null): Promise<boolean>;
  /** The whole blob as it is now; undefined where there is none. */
  read(name: string): Promise<StoredBlob | undefined>;
  /** Names that begin with `prefix`, in order. */
  list(prefix: string): AsyncIterable<string>;
}

export interface StoredBlob {
  readonly bytes: Uint8Array;
  readonly etag: string;
}
