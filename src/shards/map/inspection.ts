// What a map has at one moment, for people: with locks, and with the operation log.
import {
  type MapDocument,
  type MapHeader,
  type OperationDocument,
  isMapping,
  isShard,
  operationId,
} from './documents.ts';
import { operationsOf } from './operations.ts';
import { mappingsOf, shardsOf } from './plans.ts';
import type { Whole } from './header-guarded-partition.ts';
import { type Mapping, type Shard, mappingOf, shardOf } from './values.ts';

export interface InspectedMapping extends Mapping {
  /** Token of its lock. */
  readonly owner?: string;
  /** It is offline, and routers of its shard may not have stopped yet. */
  readonly draining?: true;
}

/** A map operation that has not ended, or that ended less than a day ago. */
export interface LoggedOperation {
  readonly id: string;
  readonly verb: string;
  readonly state: OperationDocument['state'];
  /** Why it was undone, or is being undone. */
  readonly reason?: string;
  readonly removed: ShardsAndMappings;
  readonly added: ShardsAndMappings;
}

export interface ShardsAndMappings {
  readonly shards: readonly Shard[];
  readonly mappings: readonly InspectedMapping[];
}

/** All of one reading, so that its parts fit one another. */
export interface Inspection extends ShardsAndMappings {
  readonly generation: number;
  readonly operations: readonly LoggedOperation[];
}

export const inspectionOf = (whole: Whole<MapHeader>): Inspection => ({
  generation: whole.header.generation,
  ...partsOf(whole.header, [...shardsOf(whole), ...mappingsOf(whole)]),
  operations: operationsOf(whole).map(({ id, verb, state, reason, removes, adds }) => ({
    id: id.slice(operationId('').length),
    verb,
    state,
    ...(reason !== undefined && { reason }),
    removed: partsOf(whole.header, removes),
    added: partsOf(whole.header, adds),
  })),
});

const partsOf = (header: MapHeader, entries: readonly MapDocument[]): ShardsAndMappings => ({
  shards: entries.filter(isShard).map(shardOf),
  mappings: entries.filter(isMapping).map((entry) => ({
    ...mappingOf(header, entry),
    ...(entry.owner !== undefined && { owner: entry.owner }),
    ...(entry.draining && { draining: true }),
  })),
});
