import type { Container } from '@azure/cosmos';
import type { Clock } from '../../base/clock.ts';
import { formatOf } from '../../base/format.ts';
import { shardsError } from '../errors.ts';
import type { KeySpan } from '../keys/spans.ts';
import { type StoredGate, type GateStore, type Member, cosmosGate } from './gate-store.ts';

/** The container in the database of the maps, key `/pk`, default time to live -1. Routers write it, and no map is in it. */
export const ROUTERS_CONTAINER = 'routers';

/** Keys that an administrator holds for a moment. */
export interface Closing extends KeySpan {
  readonly id: string;
}

/** The gate of a shard of a map. */
export interface ShardGateDocument extends StoredGate {
  readonly type: 'millrace.shardgate';
  /** The lowest generation of the shard's local map whose readings admit writes. It never falls. */
  readonly needs: number;
  readonly closing: readonly Closing[];
}

/** A process that writes on a shard. */
export interface RouterDocument extends Member {
  readonly type: 'millrace.router';
  /** The last generation of the gate of which this process has no write under way that the gate excludes; 0: none. */
  readonly acknowledged: number;
  readonly name: string;
}

export type ShardGateStore = GateStore<ShardGateDocument, RouterDocument>;

export interface GateOf {
  readonly map: string;
  readonly shard: string;
}

export const shardGatePartition = ({ map, shard }: GateOf): string => `gate|${map.toLowerCase()}|${shard}`;

export const firstShardGate = (of: GateOf): ShardGateDocument => ({
  id: 'gate',
  pk: shardGatePartition(of),
  type: 'millrace.shardgate',
  ...formatOf('shardgate'),
  generation: 1,
  needs: 0,
  closing: [],
});

function assertForm({ pk, generation, needs, closing }: ShardGateDocument): void {
  const isClosing = ({ id, low, high = '' }: Closing): boolean =>
    [id, low, high].every((one) => typeof one === 'string');
  if ([generation, needs].every(Number.isSafeInteger) && Array.isArray(closing) && closing.every(isClosing)) return;
  throw shardsError('shard-map-damaged', `The document gate of ${pk} in ${ROUTERS_CONTAINER} is not a gate`, {
    hint: 'Delete the document that the message names: the next process creates it again. Check which identities may write to the container `routers`.',
  });
}

export const shardGateStore = (routers: Container, of: GateOf, clock: Clock): ShardGateStore =>
  cosmosGate(routers, { first: firstShardGate(of), kind: 'shardgate', assertForm }, clock);
