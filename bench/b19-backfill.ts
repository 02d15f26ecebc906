import type { Pipeline } from '../src/pipeline/specs.ts';
import { readChanges } from '../src/feed/processor/read-changes.ts';
import type { Model } from '../src/model/model.ts';
import { backfill } from '../src/procedures/backfill/backfill.ts';
import { positionsNow } from '../src/procedures/positions-now.ts';
import type { Services } from '../src/runtime/workspace.ts';
import { servicesOn } from '../src/testing/test-pipeline.ts';
import { type Benchmark, plain, seconds, sized } from './support/measure.ts';
import { fill, openStage } from './support/stage.ts';

const DOCUMENTS = sized(100_000, 1_000);
const { signal } = new AbortController();

const PIPELINE: Pipeline = {
  name: 'bench',
  model: { containers: {} },
  tenant: 'tenantId',
  sources: [],
  projections: [],
  embeds: [],
  effects: [],
  archives: [],
  publishes: [],
  ingests: [],
  findings: [],
};
const MODEL: Model = { title: 'bench', file: 'none', containers: [], findings: [] };

const nothing = (): never => {
  throw new Error('Nothing here publishes, ingests or archives');
};

/** What it costs to write a missing tenant into documents of 1 KB. */
export const b19: Benchmark = {
  id: 'B19',
  title: 'tenants backfill of 100,000 documents of 1 KB: RU, feed entries, time',
  run: async () => {
    await using stage = await openStage();
    const { database } = stage;
    const source = await stage.container('Source', '/key');
    const state = await stage.container('millrace', '/pk');
    const services: Services = {
      ...servicesOn(database.client, { endpoint: stage.endpoint, database: database.id }),
      inBulk: async () => services,
      global: { home: { endpoint: stage.endpoint, database, state }, state, leaseDatabase: database, leases: state },
      blobs: nothing,
      hubs: { producer: nothing, consumer: nothing, check: nothing, positions: nothing },
    };
    const text = 'x'.repeat(755);
    const documents = Array.from({ length: DOCUMENTS }, (_, n) => ({
      id: `${n}`,
      key: `k${n % 2_000}`,
      type: 'thing',
      owner: `t${n % 50}`,
      text,
    }));
    await fill(source, documents, ({ key }) => String(key));
    const { resources } = await source.items.query<object>('SELECT TOP 1 * FROM c').fetchAll();
    const before = await positionsNow(source, signal);
    const account = { kind: 'key', endpoint: stage.endpoint, key: stage.key } as const;
    const options = {
      services,
      settings: {
        cosmos: account,
        database: 'bench',
        leases: { account, database: 'bench', container: 'millrace' },
        stateContainer: 'millrace',
        preferredRegions: [],
      },
      loaded: { pipeline: PIPELINE, model: MODEL },
      container: 'Source',
      values: { from: 'owner' },
      actor: 'bench',
      signal,
    };
    let ru = { reading: 0, writing: 0 };
    const time = await seconds(async () => {
      const done = await backfill(options);
      if (done.written !== DOCUMENTS || done.left > 0) throw new Error(`${done.written} written, ${done.left} left`);
      ({ ru } = done);
    });
    let entries = 0;
    for await (const { changes } of readChanges(source, { from: { checkpoint: before }, signal }))
      entries += changes.length;
    return [
      plain('bytes of a document before', JSON.stringify(resources[0]).length, 'B'),
      plain('RU to read', ru.reading, 'RU'),
      plain('RU to write', ru.writing, 'RU'),
      plain('RU to write a document', ru.writing / DOCUMENTS, 'RU'),
      plain('entries in the feed', entries, 'entries'),
      plain('time', time, 's'),
      plain('documents a second', DOCUMENTS / time, '/s'),
    ];
  },
};
