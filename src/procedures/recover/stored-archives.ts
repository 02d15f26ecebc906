import type { Archive } from '../../archive/types.ts';
import { Meter } from '../../cosmos/budget/charge-meter.ts';
import { openStore } from '../../runtime/archives.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { CosmosAccess } from '../../access/cosmos-access.ts';
import type { Context } from '../context.ts';

/** An archive without its source's feed: opening a feed may store an epoch, and a look must write nothing (REC-S3). */
export type StoredArchive = Omit<Archive, 'feed' | 'source' | 'mode'>;

export async function storedArchives(
  { pipeline: { archives, part } }: Pick<LoadedPipeline, 'pipeline'>,
  services: Services,
  { signal, screen }: Pick<Context, 'signal' | 'screen'>,
): Promise<StoredArchive[]> {
  if (archives.length === 0) return [];
  const store = await openStore(services, signal, (text) => screen.line(text));
  const meter = new Meter();
  return archives.map((spec) => ({
    spec,
    shared: part !== undefined,
    access: (fence) => new CosmosAccess(services.place.database, fence, meter),
    stateContainer: services.place.state.id,
    store,
  }));
}
