import type { Container } from '@azure/cosmos';
import { BlobServiceClient } from '@azure/storage-blob';
import { AzureBlobStore } from '../src/archive/blobs/azure-blob-store.ts';
import { openArchive } from '../src/archive/open.ts';
import { restoreArchive } from '../src/archive/restore.ts';
import { sweepArchive } from '../src/archive/sweep/sweep.ts';
import { verifyArchive } from '../src/archive/verify.ts';
import type { ArchiveSpec, CopySpec, Doc, Pipeline } from '../src/pipeline/specs.ts';
import { visible } from '../src/pipeline/oracle/recompute.ts';
import { startAzurite } from '../test/support/azurite.ts';
import type { Model } from '../src/model/model.ts';
import { copyRunner } from '../src/kinds/copy/copy-runner.ts';
import { verify } from '../src/procedures/verify/verify.ts';
import type { Services } from '../src/runtime/workspace.ts';
import { servicesOn } from '../src/testing/test-pipeline.ts';
import { type Benchmark, atLeast, none, plain, ratios, seconds, sized } from './support/measure.ts';
import { pull } from './support/pull.ts';
import { readAll } from './support/reader.ts';
import { type Stage, fill, openStage } from './support/stage.ts';

const DOCUMENTS = sized(20_000, 600);
const { signal } = new AbortController();
const screen = { live: false, line: () => undefined, draw: () => undefined, progress: () => undefined };

/** What it costs to hold sinks and blobs against their sources, and to move documents out and back. */
export const b13: Benchmark = {
  id: 'B13',
  title: 'verify ÷ raw pull of as many documents; archive and restore, byte-equal',
  run: async () => {
    await using stage = await openStage();
    const azurite = await startAzurite();
    try {
      return await measure(stage, azurite.connectionString);
    } finally {
      await azurite.close();
    }
  },
};

const noHub = (): never => {
  throw new Error('Nothing here publishes or ingests');
};

async function measure(stage: Stage, connectionString: string) {
  const blobs = BlobServiceClient.fromConnectionString(connectionString).getContainerClient('archive');
  await blobs.create();
  const source = await stage.container('Source', '/key');
  await stage.container('Sink', '/key');
  const state = await stage.container('millrace', '/pk');
  const { database } = stage;
  const services: Services = {
    ...servicesOn(database.client, { endpoint: stage.endpoint, database: database.id }),
    inBulk: async () => services,
    global: { home: { endpoint: stage.endpoint, database, state }, state, leaseDatabase: database, leases: state },
    blobs: async () => ({
      name: blobs.containerName,
      open: (options) => new AzureBlobStore(blobs, options),
      create: () => blobs.createIfNotExists(),
    }),
    hubs: { producer: noHub, consumer: noHub, check: noHub, positions: noHub },
  };
  const text = 'x'.repeat(850);
  const documents = Array.from({ length: DOCUMENTS }, (_, n) => ({
    id: `${n}`,
    key: `k${n % 200}`,
    type: 'thing',
    at: `2019-${String(1 + (n % 12)).padStart(2, '0')}-15`,
    text,
  }));
  await fill(source, documents, ({ key }) => String(key));
  const runner = copyRunner(
    COPY,
    { name: 'Sink', keyPaths: [['key']] },
    { stateContainer: state.id, sources: new Map(), readLagMs: 0 },
  );
  const leases = await stage.container('leases', '/id');
  await readAll({ source, keyPath: 'key', type: 'thing', leases, state, database: stage.database, runners: [runner] });

  const sinkVerify = async (loaded: typeof LOADED): Promise<number> => {
    let read = 0;
    const time = await seconds(async () => {
      const result = await verify(loaded, services, { signal, screen, readLagMs: 0 });
      if (result.different > 0) throw new Error(`${result.different} differences`);
      read = result.documents.sources + result.documents.found;
    });
    return read / time;
  };
  const rawPull = async (): Promise<number> => DOCUMENTS / (await seconds(() => pull(source, DOCUMENTS)));
  const hot = await ratios(5, async () => [await sinkVerify(PLAIN), await rawPull()]);
  const history = await ratios(5, async () => [await sinkVerify(LOADED), await rawPull()]);

  const store = new AzureBlobStore(blobs);
  const archive = await openArchive(COLD, LOADED.pipeline, LOADED.model, { database, state, store });
  const gate = async () => ({ acknowledged: () => Infinity, parked: () => false, waits: () => false });
  const before = await contents(source);
  let gone = 0;
  const archiving = await seconds(async () => {
    gone = (await sweepArchive(archive, { now: Date.now(), gate, signal })).removed;
  });
  const left = (await contents(source)).size;
  const cold = await ratios(5, async () => {
    let lines = 0;
    const time = await seconds(async () => {
      const { faults, archived } = await verifyArchive(archive, { signal });
      if (faults.length > 0) throw new Error(faults[0]?.what);
      lines = archived;
    });
    return [lines / time, hot.theirs];
  });
  const coldSinks = await sinkVerify(LOADED);
  let back = 0;
  const restoring = await seconds(async () => {
    back = (await restoreArchive(archive, {}, { signal })).restored;
  });
  const after = await contents(source);
  const different = [...before].filter(([key, json]) => after.get(key) !== json).length + after.size - before.size;
  return [
    atLeast('projections verify ÷ raw pull', hot.ratio, 0.7),
    plain('the same with an archive, all hot', history.ratio, '×'),
    plain('archive verify ÷ raw pull', cold.ratio, '×'),
    plain('raw pull', hot.theirs, 'documents/s'),
    plain('projections verify', hot.ours, 'documents/s'),
    plain('projections verify with an archive, all hot', history.ours, 'documents/s'),
    plain('projections verify with an archive, all cold', coldSinks, 'documents/s'),
    plain('archive verify', cold.ours, 'documents/s'),
    plain('archive', gone / archiving, 'documents/s'),
    plain('restore', back / restoring, 'documents/s'),
    none('documents left after the archiving', left, ''),
    none('documents not byte-equal after the restore', different, ''),
  ];
}

const SOURCE = { container: 'Source', type: 'thing' };
const COPY: CopySpec = {
  kind: 'copy',
  name: 'copied',
  version: 1,
  from: SOURCE,
  into: { container: 'Sink', type: 'copied' },
  onDelete: 'remove',
  stable: true,
  joins: [],
  map: (doc) => doc,
};
export const COLD: ArchiveSpec = {
  kind: 'archive',
  name: 'things-cold',
  version: 1,
  from: SOURCE,
  dateField: 'at',
  rule: { kind: 'before', ms: Date.UTC(2020, 0, 1), text: '2020-01-01' },
};
export const LOADED: { readonly pipeline: Pipeline; readonly model: Model } = {
  pipeline: {
    name: 'bench',
    model: { containers: {} },
    sources: [],
    projections: [COPY],
    archives: [COLD],
    embeds: [],
    effects: [],
    publishes: [],
    ingests: [],
    findings: [],
  },
  model: {
    title: 'Bench',
    file: 'bench.md',
    findings: [],
    containers: ['Source', 'Sink'].map((name) => ({
      name,
      partitionKey: ['/key'],
      types: [],
      at: { file: 'bench.md', line: 1 },
      places: {},
    })),
  },
};

const PLAIN: typeof LOADED = { ...LOADED, pipeline: { ...LOADED.pipeline, archives: [] } };

/** Each document's own fields as the bytes they are stored as. */
async function contents(container: Container): Promise<Map<string, string>> {
  const { resources } = await container.items.query<Doc>('SELECT * FROM c').fetchAll();
  return new Map(resources.map((doc) => [`${String(doc['key'])}/${String(doc['id'])}`, JSON.stringify(visible(doc))]));
}
