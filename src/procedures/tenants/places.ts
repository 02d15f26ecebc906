// The places that may have documents of a tenant.
import { Meter } from '../../cosmos/budget/charge-meter.ts';
import { containersHere } from '../../pipeline/places.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { openShardMap } from '../../runtime/shard-map.ts';
import { shownLocation } from '../../shards/map/documents.ts';
import { CosmosAccess } from '../../access/cosmos-access.ts';
import { allPlaces } from '../projections/in-places.ts';
import type { ErasePlace, ErasePlaces } from '../erase/erase-options.ts';

/** Every place of the pipeline, as the map says now, that of the settings first. */
export async function tenantPlaces(parts: Parts, signal: AbortSignal): Promise<ErasePlaces> {
  const detached: string[] = [];
  if (parts.loaded.pipeline.shards)
    for (const shard of await (await openShardMap(parts)).shards())
      if (shard.detached) detached.push(shownLocation(shard.location));
  const [home, ...shards] = (await allPlaces(parts)).map(({ shard, services, loaded }): ErasePlace => ({
    ...(shard !== undefined && { shard }),
    services,
    containers: containersHere(loaded.pipeline, loaded.model),
    access: new CosmosAccess(services.place.database, untilStopped(signal), new Meter()),
  }));
  return { all: [home!, ...shards], detached };
}
