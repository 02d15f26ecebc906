import type { Container, Database } from '@azure/cosmos';
import { UsageError } from '../base/errors.ts';
import { Meter } from '../cosmos/meter.ts';
import { physicalRanges } from '../cosmos/physical-ranges.ts';
import { spendingOf } from '../cosmos/spending.ts';
import type { ArchiveSpec, Pipeline } from '../definition/specs.ts';
import { sourceContainers } from '../engine/runners.ts';
import type { SourceContainer } from '../feed/reading/mapper.ts';
import { openSource } from '../feed/reading/open-source.ts';
import type { Model } from '../model/model.ts';
import { CosmosSession } from '../sinks/cosmos-session.ts';
import type { BlobStore } from './blob-store.ts';
import { readHistory } from './history.ts';
import { untilStopped } from '../feed/tenure/fences.ts';
import type { Archive, History, SourceFeed } from './types.ts';

export interface ArchiveServices {
  readonly database: Database;
  readonly state: Container;
  readonly store: BlobStore;
  /** What is asked of Cosmos DB is counted here. */
  readonly meter?: Meter;
}

const READ_LAG_MS = 5_000;

/** Readies one archive projection for its verbs. */
export async function openArchive(
  spec: ArchiveSpec,
  pipeline: Pipeline,
  model: Model,
  { database, state, store, meter = new Meter() }: ArchiveServices,
): Promise<Archive> {
  const source = sourceOf(spec.from.container, pipeline, model);
  const stored: SourceContainer = { ...source, types: new Map([[spec.from.type, {}]]) };
  return {
    spec,
    source,
    feed: await openFeed(stored, database, state, meter),
    session: (fence) => new CosmosSession(database, fence, meter),
    stateContainer: state.id,
    store,
  };
}

/**
 * The documents of the pipeline's sources, hot or cold. `store` may be left out where the pipeline archives nothing.
 * @throws UsageError `storage-missing`
 */
export function openHistory(
  pipeline: Pipeline,
  model: Model,
  services: Omit<ArchiveServices, 'store'> & { readonly store?: BlobStore | undefined; readonly readLagMs?: number },
): History {
  const { database, state, store, meter = new Meter(), readLagMs = READ_LAG_MS } = services;
  if (!store && pipeline.archives.length > 0) {
    throw new UsageError('storage-missing', 'The pipeline archives documents, and no storage account is set', {
      mend: 'Set STORAGE to the connection string of the storage account: a part of the documents lies there.',
    });
  }
  return {
    documents: async function* (container, signal) {
      const source = sourceOf(container, pipeline, model);
      yield* readHistory({
        source,
        feed: await openFeed(source, database, state, meter),
        session: new CosmosSession(database, untilStopped(signal), meter),
        stateContainer: state.id,
        store,
        readLagMs,
        signal,
      });
    },
  };
}

function sourceOf(container: string, pipeline: Pipeline, model: Model): SourceContainer {
  const source = sourceContainers(pipeline, model).get(container);
  if (source) return source;
  throw new UsageError('source-unknown', `No projection reads container ${container}`, {
    mend: '`millrace projections list` lists what is read.',
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
  return { source: opened.source, ranges: () => physicalRanges(container) };
}
