import type { Key } from '../feed/reading/change.ts';
import type { Fence } from '../feed/tenure/fence.ts';

export type SinkDocument = { readonly id: string; readonly _etag: string } & Readonly<Record<string, unknown>>;

/** The same type as in `@azure/cosmos`; repeated here, so that a pipeline compiles without that package. */
export type PatchOperation =
  | { readonly op: 'add' | 'replace' | 'set'; readonly path: string; readonly value: unknown }
  | { readonly op: 'incr'; readonly path: string; readonly value: number }
  | { readonly op: 'remove'; readonly path: string };

/**
 * One write of a batch. Each has a condition: a `create` fails if the document exists, the others have the ETag of the
 * document that was read, and a patch may have a predicate (`from c where …`) instead.
 */
export type Write =
  | { readonly op: 'create'; readonly id: string; readonly body: object }
  | { readonly op: 'replace'; readonly id: string; readonly body: object; readonly ifMatch: string }
  | { readonly op: 'delete'; readonly id: string; readonly ifMatch: string }
  | { readonly op: 'patch'; readonly id: string; readonly operations: PatchOperation[]; readonly where: string }
  | { readonly op: 'patch'; readonly id: string; readonly operations: PatchOperation[]; readonly ifMatch: string };

/**
 * - `done`: the new ETags, in the order of the writes (empty for deletes)
 * - `conflict`: a condition failed or the outcome is unknown; read again and decide again
 * - `refused`: the sink will never accept write `index` (too large, illegal id …)
 */
export type CommitResult =
  | { readonly kind: 'done'; readonly etags: readonly string[] }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'refused'; readonly index: number; readonly why: string };

export interface Reading {
  /** As they are now, from the replica that takes the writes (ASM-A13): 1 RU a KB, however many there are. */
  readonly current: boolean;
}

/**
 * The only way for a runner to Cosmos DB: it reads, and commits to one logical partition at a time, all or nothing. A
 * throttled request is sent again. Throws the fence's errors (lease lost, page too old), and when Cosmos DB is unreachable.
 */
export interface DocumentAccess {
  /** For effects outside Cosmos DB, which have no other fence: call `assert` before each of them. */
  readonly fence: Fence;
  /** Documents in the order of `ids`; undefined for a missing one. May be stale: the condition of a write confirms it, or `current`. */
  read(container: string, key: Key, ids: readonly string[], how?: Reading): Promise<(SinkDocument | undefined)[]>;
  /** At most MAX_BATCH writes of one full key, together below MAX_BATCH_BYTES. */
  commit(container: string, key: Key, writes: readonly Write[]): Promise<CommitResult>;
  /** Parameterised SQL: within one key with `key`, else across partitions. */
  query<T>(container: string, sql: string, parameters: Readonly<Record<string, Key[number]>>, key?: Key): Promise<T[]>;
}

/** The most operations and bytes of a transactional batch (ASM-A5); the bytes leave room for the envelope. */
export const MAX_BATCH = 100;
export const MAX_BATCH_BYTES = 1_900_000;
