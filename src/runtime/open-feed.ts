import type { Settings } from '../base/settings.ts';
import { ridOf } from '../cosmos/rid.ts';
import { feedModeOf } from '../pipeline/all-versions.ts';
import { CosmosLeaseStore, leasePrefix } from '../feed/leases/cosmos-lease-store.ts';
import type { SourceContainer } from '../feed/reading/mapper.ts';
import { type OpenSource, type OpenSourceOptions, openSource } from '../feed/reading/open-source.ts';
import { sourcePlace } from './place-containers.ts';
import { apartOf, leaseNameOf } from './hosts/processor-name.ts';
import type { LoadedPipeline, Services } from './workspace.ts';

/** The parts that feeds and engines are made of. */
export interface Parts {
  readonly settings: Settings;
  readonly services: Services;
  readonly loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>;
}

/** The owner of a feed's leases. */
export interface FeedReader {
  /** The owner name in the leases. */
  readonly host: string;
  /** If set, the feed has separate leases with this in their names, which live hosts don't use. */
  readonly purpose?: string;
}

/** A container's feed with its leases. */
export interface OpenFeed extends OpenSource {
  readonly leases: CosmosLeaseStore;
  readonly prefix: string;
}

/**
 * Opens the feed of a source container. A name instead of a source: only its positions. `epochs`: versions get the stored
 * epoch of the container. `mode`: the feed to read instead of the one that the pipeline declares.
 */
export async function openFeed(
  { services, settings, loaded: { pipeline } }: Parts,
  of: SourceContainer | string,
  { host, purpose }: FeedReader,
  { epochs = false, ...options }: Omit<OpenSourceOptions, 'map' | 'state'> & { readonly epochs?: boolean } = {},
): Promise<OpenFeed> {
  const [name, map] = typeof of === 'string' ? [of, undefined] : [of.name, of];
  const { mode = feedModeOf(pipeline, name) } = options;
  const place = sourcePlace(pipeline, services, name);
  const opened = await openSource(place.database.container(name), {
    ...options,
    mode,
    ...(map && { map }),
    ...(epochs && { state: place.state }),
  });
  const { container: monitored, rid } = opened;
  // Each shard reads the global place for itself. A shard that is made again has another rid, and reads from the beginning.
  const apart = place === services.place ? '' : apartOf(await ridOf(services.place.database));
  const named = `${leaseNameOf(pipeline, name, settings)}${apart}${purpose === undefined ? '' : `${purpose}.`}`;
  const prefix = leasePrefix(named, place.endpoint, await ridOf(monitored.database), rid);
  const leases = new CosmosLeaseStore({ monitored, leases: services.global.leases, host, prefix, mode });
  return { ...opened, leases, prefix };
}
