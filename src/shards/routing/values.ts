// What an application gives a router and gets of it.
import type { Container, Database, Resource, SqlQuerySpec } from '@azure/cosmos';
import type { Clock } from '../../base/clock.ts';
import type { KeyLevel } from '../../base/key-level.ts';
import type { TenantPage } from '../../client/tenant-query.ts';
import type { TenantOptions, TenantQueryOptions } from '../../client/tenant-reader.ts';
import type { KeyJson } from '../keys/codec.ts';
import type { KeyValue } from '../keys/key-type.ts';
import type { ShardLocation } from '../map/documents.ts';
import type { MultiShardQueryOptions } from '../query/types.ts';

export interface RouterOptions {
  /** The database of the maps. The identity needs to read `shardmaps`, and to write `routers` if it uses `enter`. */
  readonly database: Database;
  /** Opens the database of a shard, with a client of its account. The identity needs to read `shardmap` there. */
  readonly connect: (location: ShardLocation) => Database;
  /** True: reads the mappings of every shard that answers before the router opens. Default: each when it is first used. */
  readonly fill?: boolean;
  /** A mapping is used for at most this long before the shard is asked whether it still holds, milliseconds. Default 30,000. */
  readonly validForMs?: number;
  /**
   * A shard that gives no answer for this long counts as one that doesn't answer, milliseconds. A request that is throttled
   * for longer fails too. Default 3,000.
   */
  readonly shardWithinMs?: number;
  /** How long `enter` waits for a key that is held for a moment, milliseconds. Default 30,000. */
  readonly waitMs?: number;
  readonly clock?: Clock;
}

/** Of `forTenant`, which see. */
export interface ReaderOptions<D extends object> extends Pick<TenantOptions<D>, 'of' | 'withOwn'> {
  /**
   * True: each call first asks the shard whether it still has the key, so a key that is offline is refused immediately. Default
   * false: as for `validForMs`, what was validated counts.
   */
  readonly validate?: boolean;
}

/** Where the documents of a key are. */
export interface RoutedShard {
  /** The id of the shard in the map. */
  readonly id: string;
  readonly location: ShardLocation;
  /** Its database is lost, or is being restored. */
  readonly detached: boolean;
  readonly database: Database;
}

/** Permission for one write to the documents of a key: send it immediately, and dispose of the pass after its answer. */
export interface RoutedPass extends Disposable {
  /** The key as documents have it. */
  readonly key: KeyJson;
  readonly shard: RoutedShard;
  /** Pass it to the write as `abortSignal`. It ends the write before an administrator stops waiting for it. */
  readonly signal: AbortSignal;
  /** A container of the shard. */
  container(name: string): Container;
}

/** Reads the documents of one key in one container, wherever they are. */
export interface RoutedReader<D extends object> {
  /** The key as documents have it. */
  readonly key: KeyJson;
  /**
   * A point read. `rest` is the key after its first level; the last level may be left out if it is `/id`. Undefined: there
   * is no such document, and the shard says that it has the key.
   */
  read(id: string, ...rest: KeyLevel[]): Promise<(D & Resource) | undefined>;
  /** A query over the documents of the key; sent when its results are read. */
  query<T = D & Resource>(query: string | SqlQuerySpec, options?: TenantQueryOptions): RoutedQuery<T>;
}

/** A query of one key that can be read as a whole, result by result, or page by page. Each reading finds the shard again. */
export interface RoutedQuery<T> extends AsyncIterable<T> {
  all(): Promise<T[]>;
  /** A continuation is of one shard: it is refused after the key moved. */
  page(continuation?: string): Promise<TenantPage<T>>;
}

/** Of a query over several shards. */
export interface RouterQueryOptions extends MultiShardQueryOptions {
  /** Only shards with keys from this one on. */
  readonly low?: KeyValue;
  /** Only shards with keys below this one. */
  readonly high?: KeyValue;
}

/** What a router has done since it was opened. */
export interface RouterCounters {
  readonly map: string;
  /** Mappings that are cached now. */
  readonly mappings: number;
  readonly added: number;
  readonly removed: number;
  /** Uses of a key whose mapping was cached, and was not. */
  readonly hits: number;
  readonly misses: number;
  /** Requests to the database of the maps. */
  readonly lookups: number;
  /** Requests to local maps. */
  readonly validations: number;
  /** Calls that ended with an error of the router. */
  readonly refusals: number;
}
