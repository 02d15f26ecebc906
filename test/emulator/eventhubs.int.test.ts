import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BlobCheckpointStore } from '@azure/eventhubs-checkpointstore-blob';
import { ContainerClient } from '@azure/storage-blob';
import rhea from 'rhea';
import { describe, expect, it } from 'vitest';
import { startAzurite } from '../support/azurite.ts';
import { earliestEventPosition, openHubs } from './hubs.ts';

const numbers = (events: readonly { body: unknown }[]): unknown[] => events.map(({ body }) => body);

describe('publishing', () => {
  it('a producer of the embedded hubs keeps a batch whole, in order, with keys, ids and properties', async () => {
    await using stage = await openHubs();
    const producer = stage.producer();
    const batch = await producer.createBatch({ partitionKey: 'store-1' });
    for (let n = 0; n < 100; n++) batch.tryAdd({ body: { n }, messageId: `m${n}`, properties: { n } });
    await producer.sendBatch(batch);
    const events = stage.hubs.events('telemetry');
    expect(new Set(events.map(({ partition }) => partition)).size).toBe(1);
    expect(events.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 100 }, (_, n) => n));
    expect(events[42]).toMatchObject({
      partitionKey: 'store-1',
      messageId: 'm42',
      properties: { n: 42 },
      body: { n: 42 },
    });
  });

  it('a producer of the embedded hubs gives events without a key to the partitions in turn', async () => {
    await using stage = await openHubs();
    const producer = stage.producer();
    for (const n of [0, 1, 2, 3]) await producer.sendBatch([{ body: n }]);
    expect(stage.hubs.events('telemetry').map(({ partition, body }) => [partition, body])).toEqual([
      ['0', 0],
      ['0', 2],
      ['1', 1],
      ['1', 3],
    ]);
  });

  it('a producer of the embedded hubs tells a batch its limit, and refuses what is larger', async () => {
    await using stage = await openHubs({ maxMessageBytes: 10_000 });
    const producer = stage.producer();
    const batch = await producer.createBatch();
    expect(batch.maxSizeInBytes).toBe(10_000);
    expect(batch.tryAdd({ body: 'x'.repeat(11_000) })).toBe(false);
    await expect(producer.sendBatch([{ body: 'x'.repeat(11_000) }])).rejects.toMatchObject({
      code: 'MessageTooLargeError',
    });
    await producer.sendBatch([{ body: 'small' }]);
    expect(stage.hubs.events('telemetry')).toHaveLength(1);
  });
});

describe('reading', () => {
  it('a reader of the embedded hubs starts where it is told to: first, offset, sequence number, time, latest', async () => {
    await using stage = await openHubs();
    const producer = stage.producer();
    const send = (...bodies: number[]): Promise<void> =>
      producer.sendBatch(
        bodies.map((body) => ({ body })),
        { partitionId: '0' },
      );
    await send(0, 1);
    const before = stage.hubs.events('telemetry').at(-1)?.enqueuedAt ?? new Date();
    while (Date.now() <= before.getTime()) await new Promise((resolve) => setImmediate(resolve));
    await send(2, 3);
    const consumer = stage.consumer();
    const first = stage.read(consumer, '0', earliestEventPosition);
    const all = await first.until(4);
    expect(numbers(all)).toEqual([0, 1, 2, 3]);
    await first.close();
    const from = async (position: object, count: number): Promise<unknown[]> => {
      const reading = stage.read(consumer, '0', position);
      const found = numbers(await reading.until(count));
      await reading.close();
      return found;
    };
    expect(await from({ offset: all[1]?.offset }, 2)).toEqual([2, 3]);
    expect(await from({ offset: all[1]?.offset, isInclusive: true }, 3)).toEqual([1, 2, 3]);
    expect(await from({ sequenceNumber: 2 }, 1)).toEqual([3]);
    expect(await from({ enqueuedOn: before }, 2)).toEqual([2, 3]);
    for (const [position, why] of [
      [
        { offset: '99999' },
        `The supplied offset '99999' is invalid. The last offset in the system is '${all[3]?.offset}'`,
      ],
      [
        { sequenceNumber: 4 },
        "The supplied sequence number '4' is invalid. The last sequence number in the system is '3'",
      ],
    ] as const)
      await expect(stage.read(stage.consumer(), '0', position).failed).rejects.toMatchObject({
        code: 'ArgumentError',
        message: expect.stringContaining(why) as string,
      });
    expect(await consumer.getPartitionProperties('0')).toMatchObject({
      lastEnqueuedSequenceNumber: 3,
      lastEnqueuedOffset: all[3]?.offset,
      isEmpty: false,
    });
  });

  it('a reader of the embedded hubs goes on as events come, in each consumer group by itself', async () => {
    await using stage = await openHubs();
    const producer = stage.producer();
    const readings = [stage.consumer(), stage.consumer('SECOND')].map((client) =>
      stage.read(client, '1', earliestEventPosition),
    );
    for (const n of [1, 2, 3]) await producer.sendBatch([{ body: n }], { partitionId: '1' });
    for (const reading of readings) expect(numbers(await reading.until(3))).toEqual([1, 2, 3]);
  });

  it('a reader of the embedded hubs lets a higher owner level take a partition over, and no lower one after it', async () => {
    await using stage = await openHubs();
    await stage.producer().sendBatch([{ body: 1 }], { partitionId: '0' });
    const owner = stage.read(stage.consumer(), '0', earliestEventPosition, { ownerLevel: 1 });
    await owner.until(1);
    const taker = stage.read(stage.consumer(), '0', earliestEventPosition, { ownerLevel: 2 });
    await taker.until(1);
    await expect(owner.failed).rejects.toMatchObject({ code: 'ReceiverDisconnectedError' });
    const late = stage.read(stage.consumer(), '0', earliestEventPosition, { ownerLevel: 0 });
    await expect(late.failed).rejects.toMatchObject({ code: 'ReceiverDisconnectedError' });
    const beside = stage.read(stage.consumer(), '0', earliestEventPosition);
    await expect(beside.failed).rejects.toThrow(/non-epoch receiver/);
  });

  it('a reader of the embedded hubs lets five read side by side, and not a sixth', async () => {
    await using stage = await openHubs();
    await stage.producer().sendBatch([{ body: 1 }], { partitionId: '0' });
    for (let n = 0; n < 5; n++) await stage.read(stage.consumer(), '0', earliestEventPosition).until(1);
    const sixth = stage.read(stage.consumer(), '0', earliestEventPosition);
    await expect(sixth.failed).rejects.toMatchObject({ code: 'QuotaExceededError' });
  });

  it('shares partitions out by a checkpoint store in Blob Storage, and goes on behind a checkpoint', async () => {
    await using stage = await openHubs();
    const azurite = await startAzurite();
    try {
      const container = new ContainerClient(azurite.connectionString, 'checkpoints');
      await container.create();
      const producer = stage.producer();
      const seen: unknown[] = [];
      const read = async (count: number): Promise<void> => {
        const { promise, resolve } = Promise.withResolvers<void>();
        const client = stage.consumer('$Default', 'telemetry', new BlobCheckpointStore(container));
        const subscription = client.subscribe(
          {
            processEvents: async (events, context) => {
              const last = events.at(-1);
              if (!last) return;
              seen.push(...numbers(events));
              await context.updateCheckpoint(last);
              if (seen.length >= count) resolve();
            },
            processError: async () => undefined,
          },
          { startPosition: earliestEventPosition, maxWaitTimeInSeconds: 1 },
        );
        await promise;
        await subscription.close();
      };
      await producer.sendBatch([{ body: 'a' }], { partitionId: '0' });
      await producer.sendBatch([{ body: 'b' }], { partitionId: '1' });
      await read(2);
      await producer.sendBatch([{ body: 'c' }], { partitionId: '0' });
      await read(3);
      expect(new Set(seen)).toEqual(new Set(['a', 'b', 'c']));
    } finally {
      await azurite.close();
    }
  });
});

describe('refusals', () => {
  it('the embedded hub says which hub, consumer group or partition is not there', async () => {
    await using stage = await openHubs();
    const missing = { code: 'MessagingEntityNotFoundError' };
    await expect(stage.producer('none').createBatch()).rejects.toMatchObject(missing);
    await expect(stage.producer('none').getEventHubProperties()).rejects.toMatchObject(missing);
    await expect(stage.read(stage.consumer('nobody'), '0', earliestEventPosition).failed).rejects.toMatchObject(
      missing,
    );
    await expect(stage.producer().createBatch({ partitionId: '7' })).rejects.toMatchObject({
      code: 'ArgumentOutOfRangeError',
    });
  });

  it('the embedded hub takes no token of another key, and none without the right', async () => {
    const reader = { name: 'reader', key: 'cmVhZGVy', rights: ['Listen'] as const };
    await using stage = await openHubs({ keys: [reader] });
    const { hubs } = stage;
    const refused = { code: 'UnauthorizedError' };
    const forged = stage.producer('telemetry', hubs.connectionStringOf({ ...reader, key: 'b3RoZXI=' }));
    await expect(forged.getEventHubProperties()).rejects.toMatchObject(refused);
    const listening = stage.producer('telemetry', hubs.connectionStringOf(reader));
    expect((await listening.getEventHubProperties()).partitionIds).toEqual(['0', '1']);
    await expect(listening.createBatch()).rejects.toMatchObject(refused);
  });
});

describe('trouble on command', () => {
  it('the embedded hub detaches links, breaks connections and goes away: clients come back', async () => {
    await using stage = await openHubs({}, 1_000);
    const producer = stage.producer();
    const reading = stage.read(stage.consumer(), '0', earliestEventPosition);
    const again = async (body: number): Promise<void> => {
      // What is sent over a link that has just gone is lost: it is sent until it is there.
      for (;;) {
        try {
          return await producer.sendBatch([{ body }], { partitionId: '0' });
        } catch {
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
    };
    await again(1);
    await reading.until(1);
    await reading.close();
    stage.hubs.dropLinks();
    await again(2);
    stage.hubs.dropConnections();
    await again(3);
    await stage.hubs.suspend();
    await expect(producer.sendBatch([{ body: 0 }], { partitionId: '0' })).rejects.toThrow(/./);
    await stage.hubs.resume();
    await again(4);
    expect([...new Set(numbers(stage.hubs.events('telemetry')))]).toEqual([1, 2, 3, 4]);
  });

  it('the embedded hub can lose a batch before it is stored, or only the word that it was', async () => {
    await using stage = await openHubs({ seed: 1 }, 500);
    const producer = stage.producer();
    // The link is there before anything is lost.
    await producer.createBatch();
    stage.hubs.faults({ failBefore: 1 });
    await expect(producer.sendBatch([{ body: 1 }])).rejects.toThrow(/timeout/);
    expect(stage.hubs.events('telemetry')).toHaveLength(0);
    stage.hubs.faults({ failAfterEffect: 1 });
    await expect(producer.sendBatch([{ body: 2 }])).rejects.toThrow(/timeout/);
    expect(numbers(stage.hubs.events('telemetry'))).toEqual([2]);
  });

  it('the embedded hub keeps what was published in a folder, places included', async () => {
    const data = mkdtempSync(join(tmpdir(), 'hubs-'));
    try {
      const kept = await (async () => {
        await using stage = await openHubs({ data });
        const producer = stage.producer();
        for (const n of [1, 2, 3]) await producer.sendBatch([{ body: n }, { body: -n }], { partitionKey: `k${n}` });
        const { createdOn } = await producer.getEventHubProperties();
        return Object.assign(stage.hubs.events('telemetry'), { createdOn });
      })();
      await using stage = await openHubs({ data });
      expect(stage.hubs.events('telemetry')).toEqual([...kept]);
      expect(await stage.producer().getEventHubProperties()).toMatchObject({ createdOn: kept.createdOn });
      await stage.producer().sendBatch([{ body: 4 }], { partitionId: kept[0]!.partition });
      expect(stage.hubs.events('telemetry')).toHaveLength(7);
    } finally {
      rmSync(data, { recursive: true });
    }
  });
});

describe('signing in', () => {
  const connect = (port: number, options: object): Promise<string> => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const container = rhea.create_container();
    container.on('connection_open', ({ connection }) => {
      connection.close();
      resolve('open');
    });
    container.on('connection_error', () => resolve('refused'));
    container.on('disconnected', () => resolve('refused'));
    container.connect({ host: '127.0.0.1', port, reconnect: false, ...options });
    return promise;
  };

  it('signing in to the embedded hubs is by anyone, by a name with its key, or from outside, and not by a wrong key', async () => {
    const key = { name: 'reader', key: 'cmVhZGVy', rights: ['Listen'] as const };
    await using stage = await openHubs({ keys: [key] });
    const { port } = stage.hubs;
    expect(await connect(port, { username: 'anyone' })).toBe('open');
    expect(await connect(port, { username: key.name, password: key.key })).toBe('open');
    expect(await connect(port, { username: key.name, password: 'wrong' })).toBe('refused');
    const external = { EXTERNAL: { start: (done: (error: undefined, answer: string) => void) => done(undefined, '') } };
    expect(await connect(port, { sasl_mechanisms: external })).toBe('open');
  });
});
