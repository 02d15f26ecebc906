import type { BlobStore, HoldingStore } from '../access/blob-store.ts';
import { historyOf } from '../archive/open.ts';
import type { History } from '../archive/types.ts';
import { UsageError } from '../base/errors.ts';
import { fetchAll } from '../cosmos/fetch-all.ts';
import { asStored } from '../pipeline/discriminator.ts';
import { ENTRY } from '../kinds/archive/entries.ts';
import { sourcePlace } from './place-containers.ts';
import type { LoadedPipeline, Place, Services } from './workspace.ts';

/** Opens the archive's blob store. `say` gets a message for each step that prepares it. */
export const openStore = async (
  services: Services,
  signal: AbortSignal,
  say?: (text: string) => void,
): Promise<HoldingStore> => (await services.blobs()).open({ signal, say });

/**
 * Hot and cold documents of a pipeline's sources, as stored: deleted ones have their marker, and `upcast` is not applied.
 * Needs a storage account only once something was archived.
 */
export async function openPipelineHistory(
  { pipeline, model }: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  { signal, readLagMs }: { signal: AbortSignal; readLagMs?: number | undefined },
): Promise<History> {
  const store = pipeline.archives.length > 0 ? await storeIfNeeded(services, signal) : undefined;
  const lag = readLagMs === undefined ? {} : { readLagMs };
  const stored = { ...pipeline, sources: asStored(pipeline.sources) };
  const { part } = pipeline;
  const at = ({ database, state }: Place): History =>
    historyOf(stored, model, { database, state, store, shared: part !== undefined, ...lag });
  if (!part) return at(services.place);
  return {
    documents: async function* (container, of) {
      const shards = part.place === 'global' && part.inShards.has(container) ? await services.shards?.() : undefined;
      const places = shards?.map(({ place }) => place) ?? [sourcePlace(pipeline, services, container)];
      for (const place of places) yield* at(place).documents(container, of);
    },
  };
}

/** The store, or an empty one if nothing was archived and no storage account is set. */
export async function storeIfNeeded(services: Services, signal: AbortSignal): Promise<BlobStore> {
  try {
    return await openStore(services, signal);
  } catch (error) {
    const unset = error instanceof UsageError && error.code === 'setting-missing';
    if (unset && !(await isAnythingArchived(services, signal))) return EMPTY;
    throw error;
  }
}

/** The store to erase from; undefined if nothing was archived, and no storage account or container exists. */
export async function storeToErase(services: Services, signal: AbortSignal): Promise<HoldingStore | undefined> {
  try {
    const store = await openStore(services, signal);
    for await (const _ of store.listEver('')) break;
    return store;
  } catch (error) {
    const none = error instanceof UsageError && ['setting-missing', 'storage-container-missing'].includes(error.code);
    if (none && !(await isAnythingArchived(services, signal))) return undefined;
    throw error;
  }
}

const EMPTY: BlobStore = {
  put: async () => false,
  read: async () => undefined,
  list: async function* () {},
};

async function isAnythingArchived(services: Services, signal: AbortSignal): Promise<boolean> {
  const query = {
    query: 'SELECT TOP 1 c.id FROM c WHERE c.type = @type',
    parameters: [{ name: '@type', value: ENTRY }],
  };
  for (const { state } of [services.place, ...((await services.shards?.()) ?? []).map((shard) => shard.place)])
    for await (const _ of fetchAll<unknown>(state, query, signal)) return true;
  return false;
}
