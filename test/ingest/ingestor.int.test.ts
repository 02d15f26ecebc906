import { BlobCheckpointStore } from '@azure/eventhubs-checkpointstore-blob';
import { ContainerClient } from '@azure/storage-blob';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startTracing } from '../../src/base/telemetry/opentelemetry.ts';
import type { IngestEvent, IngestSpec } from '../../src/pipeline/specs.ts';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { ErasureRecords } from '../../src/engine/erasures/record.ts';
import { ErasureWatch } from '../../src/engine/erasures/watch.ts';
import { ViewControl } from '../../src/engine/views/view-control.ts';
import { Views } from '../../src/engine/views/views.ts';
import { Ingestor } from '../../src/ingest/ingestor.ts';
import { databaseSink } from '../../src/ingest/sink.ts';
import type { IngestTarget } from '../../src/ingest/take.ts';
import { redrive } from '../../src/procedures/dead-letters/redrive.ts';
import { checkGroup } from '../../src/access/consumer-group.ts';
import type { HubClients } from '../../src/access/hub-clients.ts';
import { type Azurite, startAzurite } from '../support/azurite.ts';
import { openHubs } from '../emulator/hubs.ts';
import { recordedSpans } from '../support/spans.ts';
import { type Stage, openStage } from '../support/stage.ts';

let stage: Stage;
let azurite: Azurite;
beforeAll(async () => {
  azurite = await startAzurite();
  stage = await openStage({ seed: 1 });
});
afterAll(async () => {
  await stage[Symbol.asyncDispose]();
  await azurite.close();
});

interface Body {
  readonly id?: string;
  readonly store: string;
  readonly cents: number;
}

const map = ({ body }: IngestEvent): Record<string, unknown> | null => {
  const { id, store, cents } = body as Body;
  if (cents < 0) throw new Error(`${cents} cents`);
  return cents === 0 ? null : { ...(id === undefined ? {} : { id }), storeId: store, cents };
};

const TARGET: IngestTarget = { name: 'Orders', keyPaths: [['storeId']] };

let names = 0;

/** A hub with an ingest into `Orders`, each test's documents under stores of its own. */
async function ingesting(
  spec: Partial<IngestSpec> = {},
  control?: ViewControl,
  target: IngestTarget = TARGET,
  erasures?: ErasureWatch,
) {
  const hubs = await openHubs();
  const name = `in-${names++}`;
  const container = new ContainerClient(azurite.connectionString, name);
  await container.create();
  const store = new BlobCheckpointStore(container);
  const clients: HubClients = {
    producer: async (hub) => hubs.producer(hub),
    check: async (hub, group) => {
      const [first = ''] = await hubs.producer(hub).getPartitionIds();
      await checkGroup(hubs.consumer(group, hub), first);
    },
    positions: () => ({ assertFit: async () => undefined, forget: async () => [] }),
    consumer: async (hub, group) => ({ client: hubs.consumer(group, hub, store), store }),
  };
  const deadLetters = new DeadLetters(stage.services.place.state);
  const own: IngestSpec = {
    kind: 'ingest',
    name,
    version: 1,
    from: 'telemetry',
    consumerGroup: '$Default',
    format: 'json',
    into: { container: 'Orders', type: 'order' },
    map,
    ...spec,
  };
  const open = (host: string): Ingestor =>
    new Ingestor({
      spec: own,
      target,
      hubs: clients,
      sink: databaseSink(stage.services.place.database),
      deadLetters,
      host,
      erasures,
      ...(control && { control }),
    });
  const run = async (ingestor: Ingestor): Promise<Ingestor> => {
    await ingestor.start();
    while (!(await ingestor.caughtUp())) await new Promise((resolve) => setImmediate(resolve));
    return ingestor;
  };
  return {
    hubs: hubs.hubs,
    producer: hubs.producer(),
    open,
    run,
    letters: () => deadLetters.list(`${name}@1`),
    /** As `dead-letters redrive` does it, with this pipeline. */
    redrive: (mended: Partial<IngestSpec> = {}) =>
      redrive({
        ...stage,
        loaded: { ...stage.loaded, pipeline: { ...stage.loaded.pipeline, ingests: [{ ...own, ...mended }] } },
        signal: new AbortController().signal,
        readLagMs: 0,
        only: `${name}@1`,
      }),
    documents: async (storeId: string) =>
      (await stage.container('Orders').items.query('SELECT * FROM c', { partitionKey: storeId }).fetchAll())
        .resources as Record<string, unknown>[],
    [Symbol.asyncDispose]: () => hubs[Symbol.asyncDispose](),
  };
}

const ids = (documents: readonly Record<string, unknown>[]): unknown[] =>
  documents.map(({ id }) => id as string).toSorted((a, b) => (a < b ? -1 : 1));

describe('events', () => {
  it('events become documents once, sent twice or not, and some become nothing', async () => {
    await using it1 = await ingesting();
    const send = (partitionId: string, ...bodies: Body[]): Promise<void> =>
      it1.producer.sendBatch(
        bodies.map((body) => ({ body })),
        { partitionId },
      );
    await send('0', { id: 'a', store: 'once', cents: 1 }, { id: 'a', store: 'once', cents: 1 });
    await send('1', { id: 'b', store: 'once', cents: 2 }, { id: 'z', store: 'once', cents: 0 });
    const first = await it1.run(it1.open('host'));
    await send('0', { id: 'a', store: 'once', cents: 1 }, { id: 'c', store: 'once', cents: 3 });
    await it1.run(first).catch(() => undefined);
    while (!(await first.caughtUp())) await new Promise((resolve) => setImmediate(resolve));
    await first.stop();
    const documents = await it1.documents('once');
    expect(ids(documents)).toEqual(['a', 'b', 'c']);
    expect(documents[0]).toMatchObject({ type: 'order', storeId: 'once' });
    expect(first.stats).toMatchObject({ changes: 6, parked: 0 });
    expect(first.stats.meter.writes).toBe(3);
  });

  it('events are a span for each take, with their hub and number, and the requests below', async () => {
    const { named, under } = recordedSpans();
    onTestFinished(startTracing());
    await using it1 = await ingesting();
    await it1.producer.sendBatch([{ body: { id: 'a', store: 'keytext', cents: 1 } }], { partitionId: '1' });
    await (await it1.run(it1.open('host'))).stop();
    const [take] = named('millrace.ingest');
    expect(take?.parentSpanContext).toBeUndefined();
    expect(take?.attributes).toMatchObject({
      'messaging.destination.name': 'telemetry',
      'messaging.destination.partition.id': '1',
      'messaging.batch.message_count': 1,
    });
    const requests = take ? under(take) : [];
    expect(requests.map(({ name }) => name)).toContain('execute_bulk Orders');
    expect(JSON.stringify([take, ...requests].map((of) => of?.attributes))).not.toContain('keytext');
  });

  it('events are told by their place in the hub where they have no id of their own', async () => {
    await using it1 = await ingesting();
    await it1.producer.sendBatch([{ body: { store: 'placed', cents: 1 } }, { body: { store: 'placed', cents: 1 } }]);
    await (await it1.run(it1.open('host'))).stop();
    expect(await it1.documents('placed')).toHaveLength(2);
  });

  it('events are not read again behind the checkpoint by the next host', async () => {
    await using it1 = await ingesting();
    await it1.producer.sendBatch([{ body: { id: 'a', store: 'next', cents: 1 } }], { partitionId: '0' });
    await (await it1.run(it1.open('one'))).stop();
    await it1.producer.sendBatch([{ body: { id: 'b', store: 'next', cents: 1 } }], { partitionId: '0' });
    const second = await it1.run(it1.open('two'));
    await second.stop();
    expect(ids(await it1.documents('next'))).toEqual(['a', 'b']);
    expect(second.stats.changes).toBe(1);
  });
});

const NO_PROJECTIONS = { projections: [], model: { containers: {} } };

describe('a paused ingest', () => {
  it('a paused ingest takes nothing until it is resumed, and then all of it', async () => {
    const views = new Views(stage.services.place.state, 'paused');
    await views.adopt(NO_PROJECTIONS);
    const paused = { since: '2026-11-21T00:00:00Z', by: 'test', reason: '', reads: [] };
    await views.change('held', (view) => ({ ...view, paused }));
    const waiting = Promise.withResolvers<void>();
    const resumed = Promise.withResolvers<void>();
    let now = 0;
    const sleep = async (): Promise<void> => {
      waiting.resolve();
      await resumed.promise;
    };
    const control = new ViewControl(views, NO_PROJECTIONS, {
      refreshMs: 1,
      clock: { now: Date.now, monotonic: () => (now += 10), sleep },
    });
    await using it1 = await ingesting({ name: 'held' }, control);
    await it1.producer.sendBatch([{ body: { id: 'a', store: 'held', cents: 1 } }], { partitionId: '0' });
    const ingestor = it1.open('host');
    await ingestor.start();
    await waiting.promise;
    expect(await it1.documents('held')).toEqual([]);
    expect(await ingestor.caughtUp()).toBe(false);
    await views.change('held', (view) => ({ ...view, paused: null }));
    resumed.resolve();
    while (!(await ingestor.caughtUp())) await new Promise((resolve) => setImmediate(resolve));
    await ingestor.stop();
    expect(await it1.documents('held')).toHaveLength(1);
  });
});

describe('bad input', () => {
  it('bad input is a dead letter with its partition and offset, and the partition goes on', async () => {
    await using it1 = await ingesting();
    await it1.producer.sendBatch(
      [
        { body: { id: 'a', store: 'bad', cents: 1 } },
        { body: Buffer.from('{ not json') },
        { body: { id: 'b', store: 'bad', cents: -5 } },
        { body: { id: 'c', cents: 1 } },
        { body: { id: '', store: 'bad', cents: 1 } },
        { body: { id: 'a/b', store: 'bad', cents: 1 } },
        { body: { id: 'd', store: 'bad', cents: 1 } },
        { body: { id: 'e', store: 'bad', cents: 2 ** 53 } },
      ],
      { partitionId: '1' },
    );
    const ingestor = await it1.run(it1.open('host'));
    await ingestor.stop();
    expect(ids(await it1.documents('bad'))).toEqual(['a', 'd']);
    const letters = (await it1.letters()).toSorted((a, b) => a.version.lsn - b.version.lsn);
    expect(letters.map(({ id, code }) => [id, code])).toEqual([
      ['1', 'event-not-json'],
      ['2', 'ingest-threw'],
      ['3', 'key-missing'],
      ['4', 'value-invalid'],
      ['5', 'document-refused'],
      ['7', 'value-invalid'],
    ]);
    const offset = it1.hubs.events('telemetry')[2]?.sequence;
    expect(offset).toBe(2);
    expect(letters[1]).toMatchObject({
      container: 'telemetry',
      key: ['$Default', '1'],
      message: expect.stringMatching(/^-5 cents \(partition 1, offset \d+\)$/),
    });
    expect(ingestor.stats.parked).toBe(6);
  });

  it('an ingest parks an event whose document would have no tenant', async () => {
    const tenant = { field: 'region', kind: 'string' } as const;
    await using own = await ingesting({}, undefined, { ...TARGET, tenant });
    await own.producer.sendBatch([{ body: { id: 't1', store: 'regions', cents: 1 } }]);
    await (await own.run(own.open('host'))).stop();
    expect(await own.documents('regions')).toEqual([]);
    expect((await own.letters()).map(({ code }) => code)).toEqual(['tenant-missing']);
  });

  it('an ingest drops the events of a tenant that is erased, also those of dead letters, and takes those of others', async () => {
    const tenant = { field: 'storeId', kind: 'string' } as const;
    const records = new ErasureRecords(stage.services.place.state, stage.loaded.pipeline.name);
    const erasures = new ErasureWatch(records, { refreshMs: 0 });
    const body = (store: string, id: string, cents = 1) => ({ body: { id, store, cents } });
    await using own = await ingesting({}, undefined, { ...TARGET, tenant }, erasures);
    await own.producer.sendBatch([body('leaves', 'parked', -5)]);
    await (await own.run(own.open('host'))).stop();
    expect(await own.letters()).toHaveLength(1);
    const mended = () => ({ id: 'parked', storeId: 'leaves', cents: 5 });
    const { id } = await records.begin('leaves', Date.now());
    await own.producer.sendBatch([body('leaves', 'new'), body('stays', 'new')]);
    await (await own.run(own.open('host'))).stop();
    expect((await own.redrive({ map: mended })).map(({ outcome }) => outcome)).toEqual(['refused']);
    expect([await own.documents('leaves'), ids(await own.documents('stays'))]).toEqual([[], ['new']]);
    expect(await own.letters()).toHaveLength(1);
    await records.remove(id);
    expect((await own.redrive({ map: mended })).map(({ outcome }) => outcome)).toEqual(['applied']);
  });

  it('an ingest says which hub or consumer group is not there', async () => {
    await using it1 = await ingesting({ from: 'none' });
    await expect(it1.open('host').start()).rejects.toMatchObject({ code: 'MessagingEntityNotFoundError' });
    await using it2 = await ingesting({ consumerGroup: 'nobody' });
    await expect(it2.open('host').start()).rejects.toMatchObject({ code: 'MessagingEntityNotFoundError' });
    await using it3 = await ingesting({ consumerGroup: 'second' });
    await (await it3.run(it3.open('host'))).stop();
  });

  it('an ingest waits while the database fails, and takes everything afterwards', async () => {
    await using it1 = await ingesting();
    const bodies = Array.from({ length: 300 }, (_, n) => ({ body: { id: `o${n}`, store: 'rough', cents: 1 } }));
    stage.emulator.faults({ failAfterEffect: 0.3, failBefore: 0.3, throttle: 0.2 });
    try {
      await it1.producer.sendBatch(bodies);
      await (await it1.run(it1.open('host'))).stop();
    } finally {
      stage.emulator.faults({});
    }
    expect(await it1.documents('rough')).toHaveLength(300);
    expect(await it1.letters()).toEqual([]);
  });
});

describe('redriving dead letters', () => {
  const body = (id: string, cents: number) => ({ body: { id, store: `again`, cents } });

  it('a redrive of dead letters takes the events that are kept in them, once what was wrong is corrected', async () => {
    await using it1 = await ingesting();
    await it1.producer.sendBatch([body('x', -5), body('y', -6), { body: Buffer.from('{ not json') }], {
      partitionId: '1',
    });
    await (await it1.run(it1.open('host'))).stop();
    expect(await it1.letters()).toHaveLength(3);
    expect(await it1.redrive()).toMatchObject([{ outcome: 'refused' }, { outcome: 'refused' }, { outcome: 'refused' }]);
    expect((await it1.letters()).map(({ attempts }) => attempts)).toEqual([2, 2, 2]);
    const seen: IngestEvent[] = [];
    const mended = (event: IngestEvent) => {
      seen.push(event);
      const { id, cents } = event.body as Body;
      return { id: id!, storeId: 'again', cents: Math.abs(cents) };
    };
    const results = await it1.redrive({ map: mended });
    expect(results.map(({ outcome }) => outcome).toSorted()).toEqual(['applied', 'applied', 'refused']);
    expect((await it1.documents('again')).map(({ id, cents }) => `${String(id)} ${String(cents)}`).toSorted()).toEqual([
      'x 5',
      'y 6',
    ]);
    expect(await it1.letters()).toMatchObject([{ code: 'event-not-json', attempts: 3 }]);
    // The event is as the hub had it, its place included.
    const sent = it1.hubs.events('telemetry')[0];
    expect(seen.find(({ sequence }) => sequence === sent?.sequence)).toMatchObject({
      partition: '1',
      enqueuedAt: sent?.enqueuedAt,
      body: { id: 'x' },
    });
  });

  it('a redrive of dead letters gives bytes back as they were, text or not', async () => {
    const bytes = Buffer.from([0xff, 0x00, 0xc3, 0x28]);
    const fails = (): never => {
      throw new Error('Not yet');
    };
    await using it1 = await ingesting({ format: 'raw', map: fails });
    await it1.producer.sendBatch([{ body: bytes }, { body: Buffer.from('plain é') }], { partitionId: '0' });
    await (await it1.run(it1.open('host'))).stop();
    const got: Buffer[] = [];
    const taking = (event: IngestEvent) => {
      got.push(Buffer.from(event.body as Uint8Array));
      return { storeId: 'bytes', at: event.offset };
    };
    expect(await it1.redrive({ map: taking })).toMatchObject([{ outcome: 'applied' }, { outcome: 'applied' }]);
    expect(got.map((one) => one.toString('hex')).toSorted()).toEqual(
      [bytes.toString('hex'), Buffer.from('plain é').toString('hex')].toSorted(),
    );
    expect(await it1.documents('bytes')).toHaveLength(2);
    expect(await it1.letters()).toEqual([]);
  });
});
