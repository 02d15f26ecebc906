import type { Container, Database } from '@azure/cosmos';
import { Meter } from '../cosmos/budget/charge-meter.ts';
import { throwMissing } from '../cosmos/container-missing.ts';
import { withRetry } from '../cosmos/retry.ts';
import { physicalRanges } from '../cosmos/physical-ranges.ts';
import { spendingOf } from '../cosmos/budget/meter.ts';
import { asStored, typeRules } from '../pipeline/discriminator.ts';
import { feedModeOf } from '../pipeline/all-versions.ts';
import type { ArchiveSpec, Pipeline } from '../pipeline/specs.ts';
import { sourceContainers } from '../engine/runners.ts';
import type { SourceContainer } from '../feed/reading/mapper.ts';
import { openSource } from '../feed/reading/open-source.ts';
import type { Model } from '../model/model.ts';
import { CosmosAccess } from '../access/cosmos-access.ts';
import type { BlobStore } from '../access/blob-store.ts';
import { Holds } from './holds.ts';
import { readHistory } from './read/history.ts';
import { untilStopped } from '../feed/tenure/fences.ts';
import type { Archive, History, SourceFeed } from './types.ts';
import { archiveError } from './errors.ts';
import { sharedError } from '../base/shared-errors.ts';

export interface ArchiveServices {
  readonly database: Database;
  readonly state: Container;
  /** The state container with the legal holds, if it is another one: a hold is on blobs, which all places share. */
  readonly holds?: Container;
  readonly store: BlobStore;
  /** Several places share the store, each with entries of its own. */
  readonly shared?: boolean;
  /** Counts the requests to Cosmos DB. */
  readonly meter?: Meter;
}

/** How old a read may be, milliseconds (ASM-A3). */
export const ARCHIVE_LAG_MS = 5_000;

/** Opens one archive projection for sweep, restore, verify and list. */
export async function openArchive(
  spec: ArchiveSpec,
  pipeline: Pipeline,
  model: Model,
  { database, state, holds = state, store, shared = false, meter = new Meter() }: ArchiveServices,
): Promise<Archive> {
  const source = sourceOf(spec.from.container, pipeline, model);
  const mode = feedModeOf(pipeline, spec.from.container);
  if (mode === 'all-versions') await requireExpiry(database.container(spec.from.container));
  const stored: SourceContainer = {
    ...source,
    types: new Map([[spec.from.type, typeRules(asStored(pipeline.sources), spec.from)]]),
  };
  return {
    spec,
    source,
    feed: await openFeed(stored, database, state, meter),
    access: (fence) => new CosmosAccess(database, fence, meter),
    stateContainer: state.id,
    store,
    shared,
    holds: new Holds(holds),
    mode,
  };
}

/**
 * The documents of the pipeline's sources, hot or cold. `store` may be left out if the pipeline archives nothing.
 * @throws UsageError `setting-missing`
 */
export function historyOf(
  pipeline: Pipeline,
  model: Model,
  services: Omit<ArchiveServices, 'store'> & { readonly store?: BlobStore | undefined; readonly readLagMs?: number },
): History {
  const { database, state, store, shared = false, meter = new Meter(), readLagMs = ARCHIVE_LAG_MS } = services;
  if (!store && pipeline.archives.length > 0)
    throw sharedError('setting-missing', 'The pipeline archives documents, and STORAGE is not set', {
      hint: 'Set `STORAGE` to the connection string of the storage account. The archive holds a part of the documents.',
    });
  return {
    documents: async function* (container, signal) {
      const source = sourceOf(container, pipeline, model);
      yield* readHistory({
        source,
        feed: await openFeed(source, database, state, meter),
        access: new CosmosAccess(database, untilStopped(signal), meter),
        stateContainer: state.id,
        store,
        shared,
        readLagMs,
        signal,
      });
    },
  };
}

/** @throws UsageError `archive-no-ttl`, `container-missing` */
async function requireExpiry(container: Container): Promise<void> {
  const { resource } = await withRetry(() => container.read(), { reads: true }).catch(throwMissing(container));
  if (resource?.defaultTtl !== undefined) return;
  throw archiveError(
    'archive-no-ttl',
    `Container ${container.id} has no default time to live, so documents that leave for the archive would never expire`,
  );
}

function sourceOf(container: string, pipeline: Pipeline, model: Model): SourceContainer {
  const source = sourceContainers(pipeline, model).get(container);
  if (source) return source;
  throw sharedError('not-found', `No projection reads container ${container}`, {
    hint: 'Name a source container: `millrace projections list` lists them.',
  });
}

async function openFeed(
  source: SourceContainer,
  database: Database,
  state: Container,
  meter: Meter,
): Promise<SourceFeed> {
  const container = database.container(source.name);
  const budget = spendingOf(database)?.reading(source.name);
  const opened = await openSource(container, { map: source, state, meter, budget });
  return { source: opened.source, ranges: () => physicalRanges(container), container, meter, hashOf: opened.hashOf };
}
