// One container with an archive, for tests of single steps: an embedded server, blobs in memory or on Azurite.
import { MARKS } from '../../src/engine/runners.ts';
import { ChangeFeedPolicy, ChangeFeedRetentionTimeSpan, type Container, type Database } from '@azure/cosmos';
import { onTestFinished } from 'vitest';
import type { BlobStore } from '../../src/access/blob-store.ts';
import { type HistoryOptions, readHistory } from '../../src/archive/read/history.ts';
import { sweepArchive } from '../../src/archive/sweep/sweep.ts';
import type { Archive, Gate, HistoricDocument, SweepOptions, SweepResult } from '../../src/archive/types.ts';
import { FULL_RANGE } from '../../src/cosmos/ranges.ts';
import { connect } from '../../src/cosmos/connect.ts';
import { Meter } from '../../src/cosmos/budget/charge-meter.ts';
import type { ArchiveSpec, Doc } from '../../src/pipeline/specs.ts';
import { type Emulator, startEmulator } from '../../src/emulator/index.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import type { SourceContainer } from '../../src/feed/reading/mapper.ts';
import { CosmosChangeSource, type FeedMode } from '../../src/feed/reading/source.ts';
import { archiveRunner } from '../../src/kinds/archive/archive-runner.ts';
import { CosmosAccess } from '../../src/access/cosmos-access.ts';
import type { DocumentAccess } from '../../src/access/document-access.ts';
import { UNFENCED } from '../kinds/history.ts';
import { MemoryBlobStore } from './memory-blob-store.ts';

export const SIGNAL = new AbortController().signal;
export const NOW = Date.UTC(2003, 0, 1);
export const OPEN: Gate = { acknowledged: () => Number.MAX_SAFE_INTEGER, parked: () => false, waits: () => false };
export const SPEC: ArchiveSpec = {
  kind: 'archive',
  name: 'cold',
  version: 1,
  from: { container: 'Orders', type: 'order' },
  dateField: 'date',
  rule: { kind: 'before', ms: Date.UTC(2001, 0, 1), text: '2001-01-01' },
  tenantField: 'tenant',
};
/** The record of an erased tenant, and the tenant of a document. */
export const RECORD = { id: 'r', salt: 's', digest: 'd', at: '2026-01-01T00:00:00Z', state: 'stopping' } as const;
export const TENANT = { field: 'tenant', of: (doc: Record<string, unknown>): string => String(doc['tenant']) };
export const order = (id: string, more: Doc = {}): Doc & { id: string } => ({
  id,
  tenant: 't',
  type: 'order',
  date: '2000-05-06',
  cents: 1,
  ...more,
});

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export interface ArchiveStage {
  readonly emulator: Emulator;
  readonly database: Database;
  readonly orders: Container;
  readonly archive: Archive;
  access(): DocumentAccess;
  /** What the feed holds now; with all versions, since the stage began. */
  changes(): Promise<readonly Change[]>;
  /** Lets the live half see everything. */
  live(): Promise<void>;
  sweep(options?: Partial<SweepOptions>, more?: Partial<Archive>): Promise<SweepResult>;
  history(of?: BlobStore): Promise<HistoricDocument[]>;
  /** Ids in the container, placeholders included. */
  hot(): Promise<string[]>;
}

export async function archiveStage(
  store: BlobStore = new MemoryBlobStore(),
  mode: FeedMode = 'latest-version',
): Promise<ArchiveStage> {
  const emulator = await startEmulator();
  const { httpClient } = emulator.clientOptions;
  const client = connect({ kind: 'key', endpoint: emulator.endpoint, key: emulator.key }, [], { httpClient });
  onTestFinished(async () => {
    client.dispose();
    await emulator.close();
  });
  const { database } = await client.databases.create({ id: 'd' });
  await database.containers.create({ id: 'millrace', partitionKey: { paths: ['/pk'] }, defaultTtl: -1 });
  const { container: orders, resource } = await database.containers.create({
    id: 'Orders',
    partitionKey: { paths: ['/tenant'] },
    defaultTtl: -1,
    ...(mode === 'all-versions' && {
      changeFeedPolicy: new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(60)),
    }),
  });
  const rid = String((resource as { _rid?: string } | undefined)?._rid);
  const source: SourceContainer = {
    name: 'Orders',
    keyPaths: [['tenant']],
    types: new Map([['order', { deleted: (doc) => doc['deletedAt'] !== undefined }]]),
    marks: MARKS,
  };
  const stored: SourceContainer = { ...source, types: new Map([['order', {}]]) };
  const feedOf = (of: SourceContainer): Archive['feed'] => ({
    source: new CosmosChangeSource(orders, rid, of, { epoch: 1 }),
    ranges: async () => [FULL_RANGE],
    container: orders,
    hashOf: () => '',
  });
  const access = (): DocumentAccess => new CosmosAccess(database, UNFENCED, new Meter());
  const archive: Archive = {
    spec: SPEC,
    source,
    feed: feedOf(stored),
    access: (fence) => new CosmosAccess(database, fence, new Meter()),
    stateContainer: 'millrace',
    store,
    mode,
  };
  const live = new CosmosChangeSource(orders, rid, source, { epoch: 1, mode });
  // The all-versions feed has no beginning.
  const begin = mode === 'all-versions' ? await live.resolve(FULL_RANGE, 'now', SIGNAL) : '';
  const changes = async (): Promise<readonly Change[]> => (await live.read(FULL_RANGE, begin, SIGNAL)).changes;
  return {
    emulator,
    database,
    orders,
    archive,
    access,
    changes,
    live: async () => archiveRunner(SPEC, { stateContainer: 'millrace' }).apply(await changes(), access()),
    sweep: (options = {}, more = {}) =>
      sweepArchive({ ...archive, ...more }, { now: NOW, gate: async () => OPEN, signal: SIGNAL, ...options }),
    history: (of = store) => {
      const options: HistoryOptions = {
        ...archive,
        store: of,
        feed: feedOf(source),
        access: access(),
        readLagMs: 0,
        signal: SIGNAL,
      };
      return collect(readHistory(options));
    },
    hot: async () => {
      const { resources } = await orders.items.query<{ id: string }>('SELECT * FROM c').fetchAll();
      return resources.map(({ id }) => id).toSorted();
    },
  };
}
