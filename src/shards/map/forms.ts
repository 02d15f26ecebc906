// Local maps are read at an edge: by a repair their mappings come into the map, and from their facts a map is created.
import { canonical } from '../../base/json.ts';
import { shardsError } from '../errors.ts';
import { encodeKey, keyJson } from '../keys/key-type.ts';
import {
  type LocalHeader,
  type MapFacts,
  type MapHeader,
  type MappingDocument,
  type ShardLocation,
  isMapping,
  shownLocation,
} from './documents.ts';
import type { Whole } from './header-guarded-partition.ts';

/** Why this is not the local map of a shard of this map, with whole mappings; undefined: it is. */
export function unfitIn(
  map: MapHeader,
  { shard, location }: { readonly shard: string; readonly location: ShardLocation },
  { header, entries }: Whole<LocalHeader>,
): string | undefined {
  const is = `The local map in ${shownLocation(location)}`;
  if (header.map !== map.name || header.shard !== shard)
    return `${is} is of the map ${header.map} and the shard ${header.shard}`;
  const other = [...entries.values()].find(
    (entry) => isMapping(entry) && !(entry.shard === shard && isWhole(map, entry)),
  );
  return other && `${is} has the document ${other.id}, which is no mapping of ${map.name} and this shard`;
}

/** @throws MillraceError `shard-map-damaged` unless the local map has the kind, key type and schema of the map. */
export function assertFacts(map: MapHeader, location: ShardLocation, { facts }: LocalHeader): void {
  if (isSameFacts(facts, map)) return;
  const what = `has another kind, key type or schema than ${map.name}`;
  throw shardsError('shard-map-damaged', `The local map in ${shownLocation(location)} ${what}`, {
    hint: 'Check the location, and which identities may write to the container `shardmap`. Restore the database of the shard if its documents were changed.',
  });
}

export const isSameFacts = (one: MapFacts | undefined, other: MapFacts): boolean => textOf(one) === textOf(other);

const textOf = ({ kind, keyType, schema }: Partial<MapFacts> = {}): string => canonical({ kind, keyType, schema });

function isWhole({ kind, keyType }: MapFacts, { low, high, status }: MappingDocument): boolean {
  const isCode = (code: unknown): code is string => typeof code === 'string' && isCodeOf(keyType, code);
  if (status !== 'online' && status !== 'offline') return false;
  if (kind === 'list') return isCode(low) && high === low;
  return (low === '' || isCode(low)) && (high === undefined || (isCode(high) && low < high));
}

function isCodeOf(keyType: MapFacts['keyType'], code: string): boolean {
  try {
    return encodeKey(keyType, keyJson(keyType, code)) === code;
  } catch {
    return false;
  }
}
