// What a multi-shard query takes and gives. docs/shards.md says how to use it.
import type { Database, SqlQuerySpec } from '@azure/cosmos';
import type { Clock } from '../../base/clock.ts';
import type { MapFacts, ShardLocation } from '../map/documents.ts';

/** A shard as a query needs it. */
export interface QueryShard {
  /** The id of the shard. */
  readonly id: string;
  readonly location: ShardLocation;
  /** Opened with an identity that may read `shardmap` and the container of the query. Absent: the shard is detached. */
  readonly database?: Database;
}

export interface MultiShardQueryOptions {
  /**
   * What becomes of the answer if a shard fails before it gave a row.
   * - `complete`: the query ends with an error. The default
   * - `partial`: the answer has the rows of the others, and names the shard in `failed`
   *
   * All shards failing is an error under both, and so is a shard that fails after rows of it were given.
   */
  readonly onFailure?: 'complete' | 'partial';
  /** How long a shard may take for one answer, milliseconds. Default 30,000. */
  readonly shardWithinMs?: number;
  /** How long the reading may take in all, milliseconds. Default 300,000. */
  readonly withinMs?: number;
  readonly signal?: AbortSignal;
  /** The most rows of a page. Default 100. */
  readonly pageSize?: number;
  /** How many shards are asked at the same time. Default 16. */
  readonly concurrency?: number;
  /** True: the documents that Millrace stores for itself count too. Default false. */
  readonly withOwn?: boolean;
  readonly clock?: Clock;
}

export interface MultiShardQueryInput extends MultiShardQueryOptions {
  /** A map's name and facts; a `ShardMap` has them. */
  readonly map: { readonly name: string } & MapFacts;
  /**
   * The shards to ask: all of the map, or those of some keys, as the map has them now. It is called again to find out
   * whether they changed, so a cache is no answer.
   */
  readonly shards: () => Promise<readonly QueryShard[]>;
  /** A sharded container of the map's schema. */
  readonly container: string;
  readonly sql: string | SqlQuerySpec;
}

/** A shard without rows in the answer. */
export interface ShardFailure {
  readonly shard: string;
  readonly location: ShardLocation;
  readonly reason: string;
  readonly error: unknown;
}

export interface QueryShardPage<T> {
  readonly items: readonly T[];
  /** Beside each item: the id of its shard. */
  readonly shards: readonly string[];
  /** The shards that failed so far; always empty under `complete`. */
  readonly failed: readonly ShardFailure[];
  /** Of this reading so far, by shard. */
  readonly diagnostics: readonly ShardDiagnostics[];
  /** True: this is the last page. */
  readonly done: boolean;
  /**
   * Where the next page begins, for another process. Absent on the last page, and where the
   * client can't resume: in a shard whose container has several physical partitions, if the query has ORDER BY, TOP or
   * OFFSET.
   */
  readonly continuation?: string;
}

/** What one shard did for a reading. */
export interface ShardDiagnostics {
  readonly shard: string;
  /** Pages of the query and readings of the local map's header. */
  readonly requests: number;
  /** Rows that the shard sent, before merging. */
  readonly rows: number;
  readonly requestCharge: number;
}
