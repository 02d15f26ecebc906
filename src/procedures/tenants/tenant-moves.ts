// Moves of keys between shards that may have a tenant's documents.
import { requireShardMaps } from '../../base/settings.ts';
import { splitPath } from '../../cosmos/paths.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { openShardMap } from '../../runtime/places.ts';
import { MAP_CONTAINER } from '../../shards/map/documents.ts';
import { codeOf } from '../move/keyed-part.ts';
import { type MoveDocument, isUnfinished, movesOf, ofKeys } from '../move/record.ts';
import type { AskedTenant } from './tenant-flag.ts';
import { operationsError } from '../errors.ts';

/**
 * Moves of the tenant's key. Where the map's keys are no tenants, any move may have documents of it. Without a tenant, all
 * moves.
 */
export async function movesOfTenant(
  parts: Parts,
  asked: AskedTenant | undefined,
  signal: AbortSignal,
): Promise<MoveDocument[]> {
  if (!parts.loaded.pipeline.shards) return [];
  const map = await openShardMap(parts);
  const { database, endpoint } = requireShardMaps(parts.settings);
  const maps = parts.services.places.connect({ database, endpoint }, { purpose: 'routing' }).container(MAP_CONTAINER);
  const all = await movesOf(maps, map.name, signal);
  if (!asked) return all;
  const { value, rule } = asked;
  const isKey = Object.values(map.schema.sharded).every((path) => splitPath(path).join('.') === rule.field);
  const code = isKey ? codeOf(map, value) : undefined;
  return code === undefined ? all : ofKeys(all, { low: code, high: code });
}

/**
 * Refuses while keys move that may be the tenant's. Resolves with a function that refuses if they have moved since.
 * @throws MillraceError `tenant-moving`
 */
export async function assertStill(parts: Parts, asked: AskedTenant, signal: AbortSignal): Promise<() => Promise<void>> {
  const before = await movesOfTenant(parts, asked, signal);
  const refuse = ({ id, keys, step, map }: MoveDocument): never => {
    throw operationsError('tenant-moving', `The move ${id} of ${keys} of the shard map ${map} is under way: ${step}`);
  };
  for (const move of before) if (isUnfinished(move)) refuse(move);
  const known = new Set(before.map(({ id }) => id));
  return async () => {
    for (const move of await movesOfTenant(parts, asked, signal)) if (!known.has(move.id)) refuse(move);
  };
}
