/** A stored document with its ETag. */
export interface Stored<T> {
  readonly body: T;
  readonly etag: string;
}

export type DeferredWrite =
  | { readonly kind: 'create'; readonly id: string; readonly body: object }
  | { readonly kind: 'replace'; readonly id: string; readonly body: object; readonly ifMatch: string }
  | { readonly kind: 'remove'; readonly id: string; readonly ifMatch: string };

/** The queues of one source container. They are in one logical partition, so that a batch covers them. */
export interface DeferredStore {
  /** The document as it is now: not from a replica that lags (ASM-A13). Undefined: there is none. */
  read<T>(id: string): Promise<Stored<T> | undefined>;
  /**
   * Makes all writes or none, as one transactional batch of at most MAX_BATCH writes and MAX_BATCH_BYTES. False: a
   * condition didn't hold. Rejects if the outcome is unknown: then the caller gives its page up, and claims again.
   */
  commit(writes: readonly DeferredWrite[]): Promise<boolean>;
}

/** The write that makes a document, or replaces it in the version that was read. */
export const written = <T extends { readonly id: string }>(body: T, before: Stored<T> | undefined): DeferredWrite =>
  before ? { kind: 'replace', id: body.id, body, ifMatch: before.etag } : { kind: 'create', id: body.id, body };
