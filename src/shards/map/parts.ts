// What a map works with: its store, its shards, its gates and fences.
import type { Closed, HoldOptions } from '../gate/shard-gates.ts';
import type { KeySpan } from '../keys/spans.ts';
import type { LocalHeader, MapHeader, ShardLocation, ShardSchema } from './documents.ts';
import type { MapDrain } from './draining.ts';
import type { SetFences } from './fences.ts';
import type { OpenLocal } from './local-maps.ts';
import type { Sheet } from './header-guarded-partition.ts';

export interface ShardMapParts {
  readonly header: MapHeader;
  readonly sheet: Sheet<MapHeader>;
  readonly openLocal: OpenLocal;
  /** The local maps of this map at a location, without those of deleted shards. */
  readonly localHeaders: (location: ShardLocation) => Promise<readonly LocalHeader[]>;
  /** Throws unless a shard at this location has what the map needs. */
  readonly assertFit: (location: ShardLocation, schema: ShardSchema) => Promise<void>;
  /** Creates the container of the local map, if that was asked for. */
  readonly prepare: (location: ShardLocation) => Promise<void>;
  readonly drain: MapDrain;
  /** Holds writes of keys on a shard. */
  readonly hold: (shard: string, spans: readonly KeySpan[], options: HoldOptions) => Promise<Closed>;
  /** Lets go what a process that died held for this work. */
  readonly letGo: (shard: string, work: string) => Promise<void>;
  readonly setFences: SetFences;
}
