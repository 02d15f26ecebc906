// What each operation changes, decided from the whole map. Pure: operations.ts runs it.
import { randomUUID } from 'node:crypto';
import { formatOf } from '../../base/format.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { shardsError } from '../errors.ts';
import {
  type Draining,
  type MapHeader,
  type MappingDocument,
  type MappingStatus,
  type ShardDocument,
  type ShardLocation,
  type StraysChange,
  isMapping,
  isSameLocation,
  isShard,
  shardId,
  shownLocation,
} from './documents.ts';
import { assertDrained, drainingOf } from './draining.ts';
import type { MapPlan } from './operations.ts';
import type { Whole } from './header-guarded-partition.ts';
import { type KeySpan, covers, spansOverlap } from '../keys/spans.ts';
import { type Mapping, type Shard, span } from './values.ts';

type Map = Whole<MapHeader>;

/** The token of a lock's owner. A change of a locked mapping must bring it. */
export interface LockOptions {
  readonly owner?: string | undefined;
}

export interface DrainedOptions {
  /** The mark that `untilStopped` has left. */
  readonly drained?: Draining | undefined;
}

export const shardsOf = ({ entries }: Map): ShardDocument[] => [...entries.values()].filter(isShard);
export const shardIn = (map: Map, id: string): ShardDocument | undefined =>
  shardsOf(map).find(({ shard }) => shard === id);
export const mappingsOf = ({ entries }: Map): MappingDocument[] =>
  [...entries.values()].filter(isMapping).toSorted((a, b) => (a.low < b.low ? -1 : 1));

export function createShard(map: Map, shard: string, location: ShardLocation): MapPlan {
  const there = shardsOf(map).find((entry) => isSameLocation(entry.location, location));
  if (there) throw sharedError('exists', `The map ${map.header.name} has a shard at ${shownLocation(location)}`);
  return { removes: [], adds: [newShard(map, shard, location)], shards: [shard] };
}

export function deleteShard(map: Map, shard: Shard): MapPlan {
  const entry = shardDocumentOf(map, shard);
  if (entry.detached)
    throw shardsError(
      'shard-detached',
      `The shard ${shownLocation(shard.location)} is detached, so it can't be deleted`,
    );
  const mapped = mappingsOf(map).filter((mapping) => mapping.shard === shard.id).length;
  if (mapped > 0)
    throw sharedError('wrong-state', `The shard ${shownLocation(shard.location)} has ${mapped} mappings`, {
      hint: 'Delete its mappings, or move them to another shard.',
    });
  return { removes: [entry], adds: [], shards: [shard.id] };
}

export function detachShard(map: Map, shard: Shard): MapPlan {
  const entry = shardDocumentOf(map, shard);
  const added: ShardDocument = { ...entry, version: randomUUID(), detached: true, draining: drainingOf(map, shard.id) };
  return { removes: [entry], adds: [added], shards: [] };
}

export function attachShard(map: Map, shard: Shard, location: ShardLocation): MapPlan {
  const document = shardDocumentOf(map, shard);
  const { detached, ...entry } = document;
  if (!detached)
    throw sharedError('wrong-state', `The shard ${shownLocation(shard.location)} is not detached`, {
      hint: 'Detach the shard first.',
    });
  const there = shardsOf(map).find((other) => other.shard !== shard.id && isSameLocation(other.location, location));
  if (there) throw sharedError('exists', `The map ${map.header.name} has a shard at ${shownLocation(location)}`);
  assertDrained(document);
  const added: ShardDocument = { ...entry, version: randomUUID(), location };
  return { removes: [document], adds: [added], shards: [shard.id] };
}

export function createMapping(map: Map, shard: Shard, keys: KeySpan, status: MappingStatus): MapPlan {
  const { shard: id } = usableShard(map, shard);
  refuseOverlap(map, keys);
  return { removes: [], adds: [newMapping(map, { shard: id, ...keys, status })], shards: [id] };
}

export function deleteMapping(map: Map, mapping: Mapping, { owner }: LockOptions): MapPlan {
  const entry = mappingDocumentOf(map, mapping, owner);
  if (entry.status === 'online') throw notOffline(map, entry, 'deleted');
  assertDrained(entry);
  return { removes: [entry], adds: [], shards: [entry.shard] };
}

export interface MappingUpdate {
  readonly status?: MappingStatus;
  readonly shard?: Shard;
}

/**
 * All pairs of status and shard are legal, except from online to online in another shard. Keys may be online on the same
 * shard again while it is drained: what its routers still write by the mapping before is right there.
 */
export function updateMapping(
  map: Map,
  mapping: Mapping,
  update: MappingUpdate,
  { owner, drained }: LockOptions & DrainedOptions,
): MapPlan {
  const entry = mappingDocumentOf(map, mapping, owner);
  const shard = update.shard ? usableShard(map, update.shard).shard : entry.shard;
  const status = update.status ?? entry.status;
  const moves = shard !== entry.shard;
  if (moves && entry.status === 'online' && status === 'online') throw notOffline(map, entry, 'moved');
  const isBack = status === 'online' && shard === entry.draining?.shard;
  if (!isBack) assertDrained(entry, drained);
  const stops = entry.status === 'online' && status === 'offline';
  const facts = { ...entry, shard, status, draining: stops ? drainingOf(map, entry.shard) : undefined };
  const added = newMapping(map, facts);
  return { removes: [entry], adds: [added], shards: moves ? [entry.shard, shard] : [shard] };
}

export function splitMapping(map: Map, mapping: Mapping, at: string, { owner }: LockOptions): MapPlan {
  const entry = mappingDocumentOf(map, mapping, owner);
  assertDrained(entry);
  if (!covers(entry, at) || at === entry.low)
    throw sharedError('option-invalid', `The key to split at is not inside of ${span(map.header, entry)}`, {
      hint: 'Give a key above the low key and below the high key of the mapping.',
    });
  const { high, ...rest } = entry;
  const halves = [
    newMapping(map, { ...rest, high: at }),
    newMapping(map, { ...rest, low: at, ...(high !== undefined && { high }) }),
  ];
  return { removes: [entry], adds: halves, shards: [entry.shard] };
}

export function mergeMappings(
  map: Map,
  [left, right]: readonly [Mapping, Mapping],
  owners: { readonly left?: string | undefined; readonly right?: string | undefined },
): MapPlan {
  const lower = mappingDocumentOf(map, left, owners.left);
  const upper = mappingDocumentOf(map, right, owners.right);
  assertDrained(lower);
  assertDrained(upper);
  if (lower.high !== upper.low || lower.shard !== upper.shard || lower.status !== upper.status)
    throw sharedError('wrong-state', `${span(map.header, lower)} and ${span(map.header, upper)} can't be merged`, {
      hint: 'Give two neighbours, the lower one first, on one shard and in one status.',
    });
  const { high: _, ...rest } = lower;
  const merged = newMapping(map, { ...rest, ...(upper.high !== undefined && { high: upper.high }) });
  return { removes: [lower, upper], adds: [merged], shards: [lower.shard] };
}

/** Keys that are mapped to the shard are no strays. So an undo, which may leave strays behind, hides nothing that counts. */
export function changeStrays(map: Map, shard: Shard, strays: StraysChange): MapPlan {
  const { shard: id } = usableShard(map, shard);
  const keys = strays.add ?? strays.clear;
  const mapped = mappingsOf(map).find(
    (entry) => entry.shard === id && typeof keys === 'object' && spansOverlap(entry, keys),
  );
  if (mapped) throw shardsError('keys-mapped', `The shard has the mapping ${span(map.header, mapped)}`);
  return { removes: [], adds: [], shards: [id], strays };
}

export function lockMapping(map: Map, mapping: Mapping, owner: string): MapPlan {
  const entry = storedMapping(map, mapping);
  if (entry.owner !== undefined && entry.owner !== owner)
    throw shardsError('mapping-locked', `The mapping ${span(map.header, entry)} is locked by ${entry.owner}`);
  return { removes: [entry], adds: [{ ...entry, owner }], shards: [] };
}

export function unlockMapping(map: Map, mapping: Mapping, unlock: LockOptions & { readonly force?: boolean }): MapPlan {
  const entry = unlock.force ? storedMapping(map, mapping) : mappingDocumentOf(map, mapping, unlock.owner);
  return { removes: [entry], adds: [unlocked(entry)], shards: [] };
}

/** The most mappings that one commit unlocks: a batch has a hundred operations. */
const UNLOCKED_AT_ONCE = 90;

export function unlockAll(map: Map, owner: string): MapPlan {
  const removes = mappingsOf(map)
    .filter((entry) => entry.owner === owner)
    .slice(0, UNLOCKED_AT_ONCE);
  return { removes, adds: removes.map(unlocked), shards: [] };
}

function unlocked(entry: MappingDocument): MappingDocument {
  const { owner: _, ...free } = entry;
  return free;
}

/** Throws where a mapping of the map has a key in common with these keys. */
export function refuseOverlap(map: Map, keys: KeySpan, except: ReadonlySet<string> = new Set()): void {
  const other = mappingsOf(map).find((entry) => !except.has(entry.id) && spansOverlap(entry, keys));
  if (other) throw shardsError('keys-mapped', `${span(map.header, keys)} meets the mapping ${span(map.header, other)}`);
}

function newShard({ header: { pk } }: Map, shard: string, location: ShardLocation): ShardDocument {
  return {
    id: shardId(shard),
    pk,
    type: 'millrace.shard',
    ...formatOf('shard'),
    shard,
    version: randomUUID(),
    location,
  };
}

/** A mapping with an id of its own: an id is the version. */
function newMapping(
  { header: { pk } }: Map,
  facts: Pick<MappingDocument, 'shard' | 'low' | 'high' | 'status' | 'owner'> & {
    readonly draining?: Draining | undefined;
  },
) {
  const { shard, low, high, status, owner, draining } = facts;
  const entry: MappingDocument = {
    id: `mapping|${randomUUID()}`,
    pk,
    type: 'millrace.mapping',
    ...formatOf('mapping'),
    shard,
    low,
    ...(high !== undefined && { high }),
    status,
    ...(owner !== undefined && { owner }),
    ...(draining && { draining }),
  };
  return entry;
}

function shardDocumentOf(map: Map, { id, version, location }: Shard): ShardDocument {
  const entry = map.entries.get(shardId(id));
  if (entry && isShard(entry) && entry.version === version) return entry;
  throw shardsError('stale', `The shard ${shownLocation(location)} was changed or deleted since it was read`);
}

function usableShard(map: Map, shard: Shard): ShardDocument {
  const entry = shardDocumentOf(map, shard);
  if (entry.detached) throw shardsError('shard-detached', `The shard ${shownLocation(entry.location)} is detached`);
  return entry;
}

function storedMapping(map: Map, { id, text }: Mapping): MappingDocument {
  const entry = map.entries.get(id);
  if (entry && isMapping(entry)) return entry;
  throw shardsError('stale', `The mapping ${text} was changed or deleted since it was read`);
}

/** The stored mapping, if the caller brings exactly the owner of its lock. */
function mappingDocumentOf(map: Map, mapping: Mapping, owner: string | undefined): MappingDocument {
  const entry = storedMapping(map, mapping);
  if (entry.owner === owner) return entry;
  const keys = span(map.header, entry);
  if (entry.owner !== undefined) throw shardsError('mapping-locked', `The mapping ${keys} is locked by ${entry.owner}`);
  throw shardsError('mapping-locked', `The mapping ${keys} is not locked`, {
    hint: 'Leave the token of an owner out. There is nothing to unlock.',
  });
}

const notOffline = (map: Map, entry: MappingDocument, verb: string): Error =>
  sharedError('wrong-state', `The mapping ${span(map.header, entry)} is online, so it can't be ${verb}`, {
    hint: 'Mark the mapping offline first.',
  });
