import { sharedError } from '../../base/shared-errors.ts';
import { shardsError } from '../errors.ts';
import { type LocalHeader, type MapHeader, type MappingDocument, type ShardDocument, isMapping } from './documents.ts';
import { assertDrained } from './draining.ts';
import type { MapPlan } from './operations.ts';
import { mappingsOf, refuseOverlap } from './plans.ts';
import type { Whole } from './header-guarded-partition.ts';
import { type Mapping, mappingOf } from './values.ts';

/** A mapping of one shard that the map and the shard's local map don't have alike, or a local map that is lost as a whole. */
export interface MapDifference {
  /** The id of the shard. */
  readonly shard: string;
  /** The mapping as the map has it; absent: the map doesn't have it. */
  readonly inMap?: Mapping;
  /** As the local map has it. */
  readonly inShard?: Mapping;
  /** The local map is missing or damaged, and why; `repair` writes it as the map is. Then it has neither of the two. */
  readonly lost?: string;
  /** For `repair`: what is stored, and the generation of the map when it was compared. */
  readonly stored: { readonly map?: MappingDocument; readonly local?: MappingDocument; readonly generation: number };
}

/** Which of the two is right. */
export type RepairSide = 'map' | 'shard';

/** Of one call of `repair`: its commit is one batch, which has a hundred operations. */
export const MOST_AT_ONCE = 40;

export function mapDifferencesOf(
  map: Whole<MapHeader>,
  { shard }: ShardDocument,
  local: Whole<LocalHeader>,
): MapDifference[] {
  const expected = new Map(mappingsOf(map).flatMap((entry) => (entry.shard === shard ? [[entry.id, entry]] : [])));
  const stored = new Map([...local.entries.values()].filter(isMapping).map((entry) => [entry.id, entry]));
  const { generation } = map.header;
  return [...new Set([...expected.keys(), ...stored.keys()])].flatMap((id) => {
    const [ours, theirs] = [expected.get(id), stored.get(id)];
    if (ours && theirs && isSame(ours, theirs)) return [];
    return [
      {
        shard,
        ...(ours && { inMap: mappingOf(map.header, ours) }),
        ...(theirs && { inShard: mappingOf(map.header, theirs) }),
        stored: { ...(ours && { map: ours }), ...(theirs && { local: theirs }), generation },
      },
    ];
  });
}

const isSame = (one: MappingDocument, other: MappingDocument): boolean =>
  one.low === other.low && one.high === other.high && one.status === other.status;

/**
 * The differences must be those of the map as it is: a local map changes by operations of the map only, so it is as it was
 * compared while the map is.
 */
export function repairPlan(map: Whole<MapHeader>, differences: readonly MapDifference[], side: RepairSide): MapPlan {
  const [first] = differences;
  if (!first || differences.length > MOST_AT_ONCE || differences.some(({ shard }) => shard !== first.shard))
    throw sharedError(
      'option-invalid',
      `Give 1 to ${MOST_AT_ONCE} differences of one shard, not ${differences.length}`,
      { hint: 'Repair one shard at a time, and at most 40 differences in one call.' },
    );
  if (differences.some(({ stored }) => stored.generation !== map.header.generation))
    throw shardsError('stale', `The map ${map.header.name} was changed since it was compared`, {
      hint: 'Call `check` again, and decide again.',
    });
  const lost = differences.find((one) => one.lost !== undefined);
  if (lost && side === 'map') return { removes: [], adds: [], shards: [first.shard] };
  if (lost)
    throw shardsError('local-map-missing', `${lost.lost}, so it can't be the right side`, {
      hint: "Make it again from the map: `repairShard(shard, 'map')`, or `millrace shards recover --from map`.",
    });
  const ours = differences.flatMap(({ stored }) => stored.map ?? []);
  const theirs = differences.flatMap(({ stored }) => stored.local ?? []);
  const shards = [first.shard];
  if (side === 'map') return { removes: [], adds: [], shards, local: { removes: theirs, adds: ours } };
  const adds = theirs.map((entry) => ({ ...entry, pk: map.header.pk }));
  for (const entry of ours) assertDrained(entry);
  const removed = new Set(ours.map(({ id }) => id));
  for (const entry of adds) refuseOverlap(map, entry, removed);
  return { removes: ours, adds, shards, local: { removes: [], adds: [] } };
}
