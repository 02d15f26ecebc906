import type { Settings } from '../base/settings.ts';
import { ridOf } from '../cosmos/rid.ts';
import { feedModeOf } from '../definition/all-versions.ts';
import { CosmosLeaseStore, leasePrefix } from '../feed/leases/cosmos-lease-store.ts';
import type { SourceContainer } from '../feed/reading/mapper.ts';
import { type OpenSource, type OpenSourceOptions, openSource } from '../feed/reading/open-source.ts';
import { leaseNameOf } from './processor-name.ts';
import type { LoadedPipeline, Services } from './workspace.ts';

/** The parts that feeds and engines are made of. */
export interface Parts {
  readonly settings: Settings;
  readonly services: Services;
  readonly loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>;
}

/** The owner of a feed's leases. */
export interface Reader {
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
 * Opens the feed of a source container. A name instead of a source: only its positions. `state`: the container of epochs.
 * `mode`: the feed to read instead of the one that the pipeline declares.
 */
export async function openFeed(
  { services, settings, loaded: { pipeline } }: Parts,
  of: SourceContainer | string,
  { host, purpose }: Reader,
  options: Omit<OpenSourceOptions, 'map'> = {},
): Promise<OpenFeed> {
  const [name, map] = typeof of === 'string' ? [of, undefined] : [of.name, of];
  const { mode = feedModeOf(pipeline, name) } = options;
  const opened = await openSource(services.place.database.container(name), { ...options, mode, ...(map && { map }) });
  const { container: monitored, rid } = opened;
  const named = `${leaseNameOf(pipeline, name, settings)}${purpose === undefined ? '' : `${purpose}.`}`;
  const prefix = leasePrefix(named, services.place.endpoint, await ridOf(monitored.database), rid);
  const leases = new CosmosLeaseStore({ monitored, leases: services.global.leases, host, prefix, mode });
  return { ...opened, leases, prefix };
}
