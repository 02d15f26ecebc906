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
import type { Whole } from './sheet.ts';

/** @throws MillraceError `local-map-unfit` unless this is the local map of a shard of this map, with whole mappings. */
export function assertLocalForm(
  map: MapHeader,
  { shard, location }: { readonly shard: string; readonly location: ShardLocation },
  { header, entries }: Whole<LocalHeader>,
): void {
  const unfit = (what: string): Error =>
    shardsError('local-map-unfit', `The local map of ${map.name} in ${shownLocation(location)} ${what}`);
  if (header.map !== map.name || header.shard !== shard) throw unfit(`is of ${header.map} and shard ${header.shard}`);
  if (header.facts && !isSameFacts(header.facts, map)) throw unfit('has another kind, key type or schema');
  for (const entry of entries.values())
    if (isMapping(entry) && !(entry.shard === shard && isWhole(map, entry)))
      throw unfit(`has the document ${entry.id}, which is no mapping of this map and shard`);
}

export const isSameFacts = (one: MapFacts, other: MapFacts): boolean => textOf(one) === textOf(other);

const textOf = ({ kind, keyType, schema }: MapFacts): string => canonical({ kind, keyType, schema });

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
