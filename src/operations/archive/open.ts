import { AzureBlobStore } from '../../archive/azure-blob-store.ts';
import type { BlobStore } from '../../archive/blob-store.ts';
import { openGate } from '../../archive/gate.ts';
import { openArchive, openHistory } from '../../archive/open.ts';
import type { Archive, Gate, History } from '../../archive/types.ts';
import { UsageError } from '../../base/errors.ts';
import type { Settings } from '../../base/settings.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { type ArchiveSpec, type Pipeline, projectionId } from '../../definition/specs.ts';
import { DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import { Views } from '../../engine/views/views.ts';
import { CosmosLeaseStore, leasePrefix } from '../../feed/leases/cosmos-lease-store.ts';
import { ENTRY } from '../../projections/archive/entries.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { orContainerMissing } from '../../cosmos/container-missing.ts';
import type { Step } from '../model/step.ts';
import { processorName } from '../../runtime/processor-name.ts';
import { Migrations } from '../containers/migrations.ts';
import type { Screen } from '../screen.ts';
import { suggestion } from '../../base/near.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';

type Loaded = Pick<LoadedPipeline, 'pipeline' | 'model'>;

/**
 * The archives of a pipeline, or the one of that name, each ready for a verb.
 * @throws UsageError `archive-unknown`, `container-missing`, and what the storage account answers
 */
export async function openArchives(
  { pipeline, model }: Loaded,
  services: Services,
  { only, signal, screen }: { only?: string | undefined; signal: AbortSignal; screen: Pick<Screen, 'line'> },
): Promise<Archive[]> {
  const chosen = choose(pipeline, only);
  const store = await openStore(services, signal, screen);
  const { database, state } = services;
  return Promise.all(
    chosen.map((spec) =>
      openArchive(spec, pipeline, model, { database, state, store }).catch((error: unknown) => {
        throw orContainerMissing(error, database.container(spec.from.container));
      }),
    ),
  );
}

/**
 * Hot and cold documents of a pipeline's sources, as stored: deleted ones with their marker, none upcast. While nothing
 * was archived, no storage account is needed.
 */
export async function openPipelineHistory(
  { pipeline, model }: Loaded,
  services: Services,
  { signal, readLagMs }: { signal: AbortSignal; readLagMs?: number | undefined },
): Promise<History> {
  const { database, state } = services;
  const store = pipeline.archives.length > 0 ? await storeIfNeeded(services, signal) : undefined;
  const settled = readLagMs === undefined ? {} : { readLagMs };
  return openHistory({ ...pipeline, sources: [] }, model, { database, state, store, ...settled });
}

async function storeIfNeeded(services: Services, signal: AbortSignal): Promise<BlobStore> {
  try {
    return await openStore(services, signal);
  } catch (error) {
    const unset = error instanceof UsageError && error.code === 'setting-missing';
    if (unset && !(await isAnythingArchived(services, signal))) return EMPTY;
    throw error;
  }
}

const EMPTY: BlobStore = {
  put: async () => false,
  read: async () => undefined,
  list: async function* () {},
};

async function isAnythingArchived({ state }: Services, signal: AbortSignal): Promise<boolean> {
  const query = {
    query: 'SELECT TOP 1 c.id FROM c WHERE c.type = @type',
    parameters: [{ name: '@type', value: ENTRY }],
  };
  for await (const _ of fetchAll<unknown>(state, query, signal)) return true;
  return false;
}

const openStore = async (services: Services, signal: AbortSignal, screen?: Pick<Screen, 'line'>): Promise<BlobStore> =>
  new AzureBlobStore(await services.blobs(), { signal, say: screen && ((text) => screen.line(text)) });

/** What has to be done for the archives of a pipeline to have a place: nothing without one, or with it there. */
export async function planStorage({ pipeline }: Loaded, services: Services, signal: AbortSignal): Promise<Step[]> {
  if (pipeline.archives.length === 0) return [];
  try {
    const store = await openStore(services, signal);
    for await (const _ of store.list('-')) break;
    return [];
  } catch (error) {
    if (!(error instanceof UsageError && error.code === 'storage-container-missing')) throw error;
    const blobs = await services.blobs();
    return [{ say: `create blob container ${blobs.containerName}`, apply: () => blobs.createIfNotExists() }];
  }
}

/**
 * What tells a sweep whether a document may leave: the positions of the pipeline's leases and its dead letters, read
 * anew at each call.
 */
export async function gateOf(
  { spec }: Archive,
  pipeline: Pipeline,
  { services, settings, signal }: { services: Services; settings: Settings; signal: AbortSignal },
): Promise<() => Promise<Gate>> {
  const { database, state, leases } = services;
  const monitored = database.container(spec.from.container);
  const [home, source] = await Promise.all([
    withRetry(() => database.read(), { reads: true, signal }),
    withRetry(() => monitored.read(), { reads: true, signal }),
  ]);
  const [databaseRid, rid] = [home.resource?._rid ?? '', source.resource?._rid ?? ''];
  const prefix = leasePrefix(processorName(pipeline), settings.cosmos.endpoint, databaseRid, rid);
  const store = new CosmosLeaseStore({ monitored, leases, host: 'archive', prefix });
  // A lease that was not there yet has no position, so nothing of its range leaves.
  await store.prepare(signal);
  const deadLetters = new DeadLetters(state);
  const views = new Views(state, pipeline.name);
  const migrations = new Migrations(state);
  return async () => {
    // What leaves while a version is built would be missing in it, or be copied and left behind by a migration.
    const building = Object.values((await views.read()) ?? {}).some(({ staged }) => staged !== null);
    const busy = building || (await migrations.isUnderWay(spec.from.container));
    return busy ? NOTHING_LEAVES : openGate(() => store.list(), deadLetters);
  };
}

const NOTHING_LEAVES: Gate = { acknowledged: () => undefined, parked: () => true };

function choose({ archives }: Pipeline, only: string | undefined): readonly ArchiveSpec[] {
  if (archives.length === 0) {
    throw new UsageError('archive-none', 'The pipeline declares no archive', {
      mend: "Declare one: archive('orders-cold', { from: m.Orders.order, date: 'completedAt', after: '90d' }).",
    });
  }
  const found = only === undefined ? archives : archives.filter((of) => of.name === only || projectionId(of) === only);
  if (found.length > 0) return found;
  const known = archives.map(({ name }) => name);
  throw new UsageError('archive-unknown', `There is no archive ${only}${suggestion(only ?? '', known)}`, {
    mend: `There is: ${known.join(', ')}.`,
  });
}
