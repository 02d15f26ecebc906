import { fork } from 'node:child_process';
import { once } from 'node:events';
import {
  type Checkpoint,
  type CheckpointStore,
  EventHubConsumerClient,
  EventHubProducerClient,
  type PartitionOwnership,
  type ReceivedEventData,
} from '@azure/event-hubs';
import pMap from 'p-map';
import { partitionOf } from '../src/base/event-hub-partition.ts';
import type { IngestSpec, PublishSpec } from '../src/pipeline/specs.ts';
import { DeadLetters } from '../src/engine/dead-letters/dead-letters.ts';
import type { Change } from '../src/feed/reading/change.ts';
import { Ingestor } from '../src/ingest/ingestor.ts';
import { databaseSink } from '../src/ingest/sink.ts';
import { eventMessageOf } from '../src/kinds/publish/event.ts';
import { publishRunner } from '../src/kinds/publish/publish-runner.ts';
import { CosmosAccess } from '../src/access/cosmos-access.ts';
import { EventHubSink } from '../src/access/event-hub.ts';
import { Meter } from '../src/cosmos/budget/charge-meter.ts';
import { type Benchmark, atLeast, plain, ratios, seconds, sized } from './support/measure.ts';
import { openStage } from './support/stage.ts';

const EVENTS = sized(20_000, 500);
const PAGE = sized(1_000, 100);
const NAIVE = sized(2_000, 50);

const SPEC: PublishSpec = {
  kind: 'publish',
  name: 'out',
  version: 1,
  from: { container: 'Source', type: 'thing' },
  to: '',
  format: 'cloudevents',
  order: 'partitionKey',
  images: false,
};
const CHANGES: readonly Change[] = Array.from({ length: EVENTS }, (_, n) => ({
  container: 'Source',
  key: [`k${n % 500}`],
  id: `${n}`,
  type: 'thing',
  version: { epoch: 0, lsn: n, etag: `e${n}` },
  at: 0,
  op: 'upsert',
  doc: { id: `${n}`, key: `k${n % 500}`, type: 'thing', text: 'x'.repeat(500) },
}));
const MESSAGES = CHANGES.flatMap((change) => eventMessageOf(SPEC, change) ?? []);

/** What the ordering, the ids and the waiting cost over the client alone, and how far both are from what is often written. */
export const b17: Benchmark = {
  id: 'B17',
  title: 'published and ingested events ÷ the raw client’s',
  run: async () => {
    const child = fork(new URL('hub-server.ts', import.meta.url), { execArgv: ['--conditions=millrace-source'] });
    const [{ connectionString }] = (await once(child, 'message')) as [{ connectionString: string }];
    await using stage = await openStage();
    let hubs = 0;
    const nextHub = (): string => `hub-${hubs++}`;

    const publish = async (): Promise<[number, number, number]> => {
      const raw = new EventHubProducerClient(connectionString, nextHub());
      const theirs = EVENTS / (await seconds(() => publishRaw(raw)));
      const naive = NAIVE / (await seconds(() => publishOneByOne(raw)));
      await raw.close();
      const own = new EventHubProducerClient(connectionString, nextHub());
      const sink = new EventHubSink('own', async () => own);
      const runner = publishRunner(SPEC, { sink });
      const fence = { kind: 'lease', tenure: {}, signal: new AbortController().signal, assert: () => {} } as const;
      const access = new CosmosAccess(stage.database, fence, new Meter());
      const ours =
        EVENTS /
        (await seconds(async () => {
          for (let at = 0; at < EVENTS; at += PAGE) await runner.apply(CHANGES.slice(at, at + PAGE), access);
        }));
      await own.close();
      return [ours, theirs, naive];
    };

    const state = await stage.container('millrace', '/pk');
    const ingest = async (round: number): Promise<[number, number, number]> => {
      const hub = nextHub();
      const producer = new EventHubProducerClient(connectionString, hub);
      await publishRaw(producer);
      await producer.close();
      const theirs = EVENTS / (await seconds(() => receive(connectionString, hub, EVENTS, async () => {})));
      const container = await stage.container(`Naive${round}`, '/key', 60_000);
      const create = async (events: readonly ReceivedEventData[]): Promise<void> => {
        await pMap(
          events,
          async ({ body }) => void (await container.items.create((body as { data: { id: string } }).data)),
          { concurrency: 32 },
        );
      };
      const naive = EVENTS / (await seconds(() => receive(connectionString, hub, EVENTS, create)));
      await stage.container(`Own${round}`, '/key', 60_000);
      const spec: IngestSpec = {
        kind: 'ingest',
        name: `in-${round}`,
        version: 1,
        from: hub,
        consumerGroup: '$Default',
        format: 'json',
        into: { container: `Own${round}`, type: 'thing' },
        map: ({ body }) => (body as { data: Record<string, unknown> }).data,
      };
      const store = new MemoryStore();
      const client = (): EventHubConsumerClient =>
        new EventHubConsumerClient('$Default', connectionString, hub, store, LOAD);
      const ingestor = new Ingestor({
        spec,
        target: { name: `Own${round}`, keyPaths: [['key']] },
        hubs: {
          producer: () => Promise.reject(new Error('nothing is published')),
          check: async () => {},
          positions: () => ({ assertFit: async () => {}, forget: async () => [] }),
          consumer: async () => ({ client: client(), store }),
        },
        sink: databaseSink(stage.database),
        deadLetters: new DeadLetters(state),
        host: 'bench',
      });
      const ours =
        EVENTS /
        (await seconds(async () => {
          await ingestor.start();
          while (ingestor.stats.changes < EVENTS) await new Promise((resolve) => setImmediate(resolve));
        }));
      await ingestor.stop();
      return [ours, theirs, naive];
    };

    const both = async (run: (round: number) => Promise<[number, number, number]>) => {
      const naive: number[] = [];
      const measured = await ratios(5, async (round) => {
        const [ours, theirs, slow] = await run(round);
        naive.push(ours / slow);
        return [ours, theirs];
      });
      return { ...measured, naive: naive.slice(1).toSorted((a, b) => a - b)[2] ?? Number.NaN };
    };
    const out = await both(publish);
    const into = await both(ingest);
    child.disconnect();
    await once(child, 'exit');
    return [
      atLeast('publish ÷ raw client, batches by partition', out.ratio, 0.6),
      plain('publish ÷ one awaited event a send', out.naive, '×'),
      plain('publish', out.ours, 'events/s'),
      plain('raw client', out.theirs, 'events/s'),
      plain('ingest ÷ receiving alone', into.ratio, '×'),
      plain('ingest ÷ receive and create 32-way', into.naive, '×'),
      plain('ingest', into.ours, 'events/s'),
      plain('receiving alone', into.theirs, 'events/s'),
    ];
  },
};

const LOAD = { loadBalancingOptions: { strategy: 'greedy' as const } };

/** The same events by the client alone: hashed to partitions beforehand, as large batches as fit, all partitions at once. */
async function publishRaw(producer: EventHubProducerClient): Promise<void> {
  const ids = await producer.getPartitionIds();
  const lanes = Map.groupBy(MESSAGES, ({ partitionKey }) => ids[partitionOf(partitionKey, ids.length)] ?? '0');
  await pMap(lanes, async ([partitionId, lane]) => {
    let batch = await producer.createBatch({ partitionId });
    for (const { event } of lane) {
      if (batch.tryAdd(event)) continue;
      await producer.sendBatch(batch);
      batch = await producer.createBatch({ partitionId });
      batch.tryAdd(event);
    }
    await producer.sendBatch(batch);
  });
}

async function publishOneByOne(producer: EventHubProducerClient): Promise<void> {
  for (const { event, partitionKey } of MESSAGES.slice(0, NAIVE)) await producer.sendBatch([event], { partitionKey });
}

/** Reads a hub from its beginning until so many events came. */
async function receive(
  connectionString: string,
  hub: string,
  count: number,
  each: (events: readonly ReceivedEventData[]) => Promise<void>,
): Promise<void> {
  const client = new EventHubConsumerClient('$Default', connectionString, hub, LOAD);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let seen = 0;
  const subscription = client.subscribe(
    {
      processEvents: async (events) => {
        await each(events);
        seen += events.length;
        if (seen >= count) resolve();
      },
      processError: async (error) => reject(error),
    },
    { startPosition: { offset: '-1' }, maxBatchSize: 500 },
  );
  await promise;
  await subscription.close();
  await client.close();
}

/** Positions in memory, so that blobs aren't what is measured. */
class MemoryStore implements CheckpointStore {
  readonly #owned = new Map<string, PartitionOwnership>();
  readonly #checkpoints = new Map<string, Checkpoint>();

  async listOwnership(): Promise<PartitionOwnership[]> {
    return [...this.#owned.values()];
  }

  async claimOwnership(wanted: PartitionOwnership[]): Promise<PartitionOwnership[]> {
    for (const one of wanted) this.#owned.set(one.partitionId, { ...one, lastModifiedTimeInMs: Date.now(), etag: '1' });
    return wanted;
  }

  async updateCheckpoint(checkpoint: Checkpoint): Promise<void> {
    this.#checkpoints.set(checkpoint.partitionId, checkpoint);
  }

  async listCheckpoints(): Promise<Checkpoint[]> {
    return [...this.#checkpoints.values()];
  }
}
