// The places that may have documents of a tenant.
import { Meter } from '../../cosmos/budget/charge-meter.ts';
import { containersHere } from '../../pipeline/places.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { inPlaces, openShardMap, placesOf } from '../../runtime/places.ts';
import { shownLocation } from '../../shards/map/documents.ts';
import { CosmosAccess } from '../../access/cosmos-access.ts';
import type { ErasePlace, ErasePlaces } from '../erase/erase-options.ts';

/** Every place of the pipeline, as the map says now, that of the settings first. */
export async function tenantPlaces(parts: Parts, signal: AbortSignal): Promise<ErasePlaces> {
  const known = parts.loaded.pipeline.shards ? await (await openShardMap(parts)).shards() : [];
  const detached = known.filter((shard) => shard.detached).map(({ location }) => shownLocation(location));
  const [home, ...shards] = await inPlaces(await placesOf(parts).list(), ({ shard, services, loaded }): ErasePlace => ({
    ...(shard !== undefined && { shard }),
    services,
    containers: containersHere(loaded.pipeline, loaded.model),
    access: new CosmosAccess(services.place.database, untilStopped(signal), new Meter()),
  }));
  return { all: [home!, ...shards], detached };
}
