// What a caller holds of a map: immutable values. Each change of a shard or a mapping makes the value in hand void.
import type { KeyJson } from '../keys/codec.ts';
import { keyJson, shownKey } from '../keys/key-type.ts';
import type { KeySpan } from '../keys/spans.ts';
import type { MapHeader, MappingDocument, MappingStatus, ShardDocument, ShardLocation } from './documents.ts';

/** A database with a part of the documents. */
export interface Shard {
  /** Stays the same for the shard's whole life, also after it was attached at another location. */
  readonly id: string;
  readonly version: string;
  readonly location: ShardLocation;
  /** Its database is lost or being restored: its mappings stay, and no change reaches it. */
  readonly detached: boolean;
}

/** Which shard has a key, or a range of keys. */
export interface Mapping {
  /** Another one after each change, except of the lock. */
  readonly id: string;
  /** The id of the shard. */
  readonly shard: string;
  readonly status: MappingStatus;
  /** The key of a list map's mapping, as documents have it. */
  readonly key?: KeyJson;
  /** The first key of a range; absent: from the first key of all. */
  readonly low?: KeyJson;
  /** The first key after a range; absent: to the last key of all. */
  readonly high?: KeyJson;
  /** The keys, for a message. */
  readonly text: string;
}

type Typed = Pick<MapHeader, 'kind' | 'keyType'>;

export const shardOf = ({ shard, version, location, detached }: ShardDocument): Shard => ({
  id: shard,
  version,
  location,
  detached: detached === true,
});

export function mappingOf(map: Typed, entry: MappingDocument): Mapping {
  const { id, shard, status } = entry;
  return { id, shard, status, ...mapKeysOf(map, entry), text: span(map, entry) };
}

/** Keys as documents have them: `key` of a list map, `low` and `high` of a range map. */
export type MapKeys = Pick<Mapping, 'key' | 'low' | 'high'>;

export function mapKeysOf({ kind, keyType }: Typed, { low, high }: KeySpan): MapKeys {
  if (kind === 'list') return { key: keyJson(keyType, low) };
  return {
    ...(low !== '' && { low: keyJson(keyType, low) }),
    ...(high !== undefined && { high: keyJson(keyType, high) }),
  };
}

/** The keys of a mapping, for a message. */
export function span(map: Typed, entry: KeySpan): string {
  const { key, low, high } = mapKeysOf(map, entry);
  return key === undefined ? shownRange(map, { low, high }) : shownKey(map.keyType, key);
}

/** Keys from `low` up to `high`, without it; undefined: no end there. */
export function shownRange(
  { keyType }: Pick<Typed, 'keyType'>,
  { low, high }: { readonly low: KeyJson | undefined; readonly high: KeyJson | undefined },
): string {
  const end = (key: KeyJson | undefined): string => (key === undefined ? '…' : shownKey(keyType, key));
  return `[${end(low)}, ${end(high)})`;
}
