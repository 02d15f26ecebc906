import type { Settings } from '../base/settings.ts';
import { feedModeOf } from '../definition/all-versions.ts';
import { CosmosLeaseStore, leasePrefix } from '../feed/leases/cosmos-lease-store.ts';
import type { SourceContainer } from '../feed/reading/mapper.ts';
import { type OpenSource, type OpenSourceOptions, openSource } from '../feed/reading/open-source.ts';
import { processorName } from './processor-name.ts';
import type { LoadedPipeline, Services } from './workspace.ts';

/** What everything that is opened here is made of. */
export interface Parts {
  readonly settings: Settings;
  readonly services: Services;
  readonly loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>;
}

/** Whose leases a feed is read by. */
export interface Reader {
  /** The owner written into leases. */
  readonly host: string;
  /** Apart from the live hosts, by leases that are named after this. */
  readonly purpose?: string;
}

/** A container's feed with the leases that it is read by. */
export interface OpenFeed extends OpenSource {
  readonly leases: CosmosLeaseStore;
  readonly prefix: string;
}

/** Opens the feed of a source container, or only its positions: then by name. With `state` versions are of their epoch. */
export async function openFeed(
  { services, settings, loaded: { pipeline } }: Parts,
  of: SourceContainer | string,
  { host, purpose }: Reader,
  options: Omit<OpenSourceOptions, 'map' | 'mode'> = {},
): Promise<OpenFeed> {
  const [name, map] = typeof of === 'string' ? [of, undefined] : [of.name, of];
  const mode = feedModeOf(pipeline, name);
  const opened = await openSource(services.database.container(name), { ...options, mode, ...(map && { map }) });
  const { container: monitored, rid, databaseRid } = opened;
  const named = `${processorName(pipeline)}${purpose === undefined ? '' : `${purpose}.`}`;
  const prefix = leasePrefix(named, settings.cosmos.endpoint, databaseRid, rid);
  const leases = new CosmosLeaseStore({ monitored, leases: services.leases, host, prefix, mode });
  return { ...opened, leases, prefix };
}
