import type { Key } from '../feed/reading/change.ts';
import type { Fence } from '../feed/tenure/fence.ts';

export type SinkDocument = { readonly id: string; readonly _etag: string } & Readonly<Record<string, unknown>>;

/** As `@azure/cosmos` has it; told here, so that a pipeline compiles where that isn't installed. */
type PatchOperation =
  | { readonly op: 'add' | 'replace' | 'set'; readonly path: string; readonly value: unknown }
  | { readonly op: 'incr'; readonly path: string; readonly value: number }
  | { readonly op: 'remove'; readonly path: string };

/**
 * One write of a batch; none is blind: `create` is If-None-Match by nature, the others carry the ETag they were decided
 * on, and a patch may carry a predicate (`from c where …`) instead.
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
 * - `refused`: the sink will never take write `index` (too large, illegal id …)
 */
export type CommitResult =
  | { readonly kind: 'done'; readonly etags: readonly string[] }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'refused'; readonly index: number; readonly why: string };

/**
 * What a runner may do: read, and commit to one logical partition at a time, all or nothing. A throttled
 * request is sent again. Throws when the fence says stop (lease lost, page too old) and when Cosmos DB can't be had.
 */
export interface SinkSession {
  /** For effects beyond Cosmos DB, which nothing else fences: asserted before each of them. */
  readonly fence: Fence;
  /** Documents in the order of `ids`; absent ones are undefined. May be stale: the condition on a write confirms it. */
  read(container: string, key: Key, ids: readonly string[]): Promise<(SinkDocument | undefined)[]>;
  /** At most MAX_BATCH writes of one full key, together below MAX_BATCH_BYTES. */
  commit(container: string, key: Key, writes: readonly Write[]): Promise<CommitResult>;
  /** Parameterised SQL; within one key when `key` is given, else across partitions. */
  query<T>(container: string, sql: string, parameters: Readonly<Record<string, Key[number]>>, key?: Key): Promise<T[]>;
}

/** Operations and bytes a transactional batch takes (A5), the bytes with room for the envelope. */
export const MAX_BATCH = 100;
export const MAX_BATCH_BYTES = 1_900_000;
