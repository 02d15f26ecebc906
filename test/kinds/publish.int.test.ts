import { once } from 'node:events';
import { type AddressInfo, type Socket, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventHubProducerClient } from '@azure/event-hubs';
import type { PublishSpec } from '../../src/pipeline/specs.ts';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { Engine } from '../../src/engine/engine.ts';
import type { PublishedEvent } from '../../src/emulator/eventhubs/index.ts';
import type { Change, Key } from '../../src/feed/reading/change.ts';
import type { Fence } from '../../src/feed/tenure/fence.ts';
import { EffectRecords } from '../../src/kinds/effects/records.ts';
import { publishRunner } from '../../src/kinds/publish/publish-runner.ts';
import { EventHubSink } from '../../src/access/event-hub.ts';
import { earliestEventPosition, openHubs } from '../emulator/hubs.ts';
import { type Stage, openStage } from '../support/stage.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';

let stage: Stage;
beforeAll(async () => (stage = await openStage()));
afterAll(() => stage[Symbol.asyncDispose]());

const SPEC: PublishSpec = {
  kind: 'publish',
  name: 'out',
  version: 1,
  from: { container: 'Orders', type: 'order' },
  to: 'telemetry',
  format: 'cloudevents',
  order: 'partitionKey',
  images: false,
};

function change(key: Key, id: string, lsn: number, more: Partial<Change> = {}): Change {
  return {
    container: 'Orders',
    key,
    id,
    type: 'order',
    version: { epoch: 0, lsn, etag: `etag-${lsn}` },
    at: 1_000 * lsn,
    op: 'upsert',
    doc: { id, type: 'order', lsn },
    ...more,
  };
}

let names = 0;

/** An engine with one publish; each has a name of its own, so that none meets another's dead letters. */
function publishing(
  producer: (instead?: EventHubProducerClient) => Promise<EventHubProducerClient>,
  spec: Partial<PublishSpec> = {},
  { echoes = false, attemptMs = 5_000, patienceMs = 60_000 } = {},
) {
  const own: PublishSpec = { ...SPEC, name: `out-${names++}`, ...spec };
  const deadLetters = new DeadLetters(stage.services.place.state);
  const sink = new EventHubSink(own.to, producer, { attemptMs, patienceMs });
  const projection = `${own.name}@1`;
  const records = echoes && new EffectRecords({ stateContainer: 'millrace', projection, ignored: () => [] });
  const runner = publishRunner(own, { sink, ...(records && { records }) });
  const engine = new Engine({ database: stage.services.place.database, runners: [runner], deadLetters });
  const fence: Fence = { kind: 'lease', tenure: {}, signal: new AbortController().signal, assert: () => {} };
  return {
    id: runner.id,
    letters: () => deadLetters.list(runner.id),
    consume: (...changes: readonly Change[]) =>
      engine.consume({ changes, charge: 0, readAt: performance.now() }, fence),
    fence,
  };
}

const bodies = (events: readonly PublishedEvent[]): Record<string, unknown>[] =>
  events.map(({ body }) => body as Record<string, unknown>);

describe('an event', () => {
  it('an event is a CloudEvent with a stable id, the key it is ordered by, and a rising sequence', async () => {
    await using hubs = await openHubs();
    const producer = hubs.producer();
    const { consume } = publishing(async () => producer, { type: 'com.example.order', schemaVersion: '2' });
    await consume(change(['acme', 'eu', 's1'], 'o1', 7), change(['acme', 'eu', 's1'], 'o1', 12));
    await consume(change(['acme', 'eu', 's1'], 'o1', 12));
    const events = hubs.hubs.events('telemetry');
    const [first, second, again] = bodies(events);
    expect(first).toEqual({
      specversion: '1.0',
      id: expect.stringMatching(/^[\w-]{43}$/),
      source: '/Orders',
      type: 'com.example.order',
      subject: '["acme","eu","s1","o1"]',
      time: '1970-01-01T00:00:07.000Z',
      partitionkey: '["acme","eu","s1"]',
      sequence: '000000-0000000000000007',
      op: 'upsert',
      schemaversion: '2',
      datacontenttype: 'application/json',
      data: { id: 'o1', type: 'order', lsn: 7 },
    });
    expect(second?.['id']).not.toBe(first?.['id']);
    expect(String(second?.['sequence']) > String(first?.['sequence'])).toBe(true);
    expect(again).toEqual(second);
    // A redrive of what is gone says so just above the version that was parked.
    await consume(change(['acme', 'eu', 's1'], 'o1', 12.5), change(['acme', 'eu', 's1'], 'o1', 13));
    const sequences = bodies(hubs.hubs.events('telemetry')).map(({ sequence }) => String(sequence));
    expect(new Set(sequences).size).toBe(4);
    expect(sequences).toEqual(sequences.toSorted());
    expect(events.map(({ messageId }) => messageId)).toEqual([first?.['id'], second?.['id'], second?.['id']]);
    expect(new Set(events.map(({ partition }) => partition)).size).toBe(1);
  });

  it('an event has the key it is ordered by for its partition key, in batches of many keys, and lies where the hub would put it', async () => {
    await using hubs = await openHubs();
    const producer = hubs.producer();
    const { consume } = publishing(async () => producer);
    const keys = Array.from({ length: 40 }, (_, n): Key => [`t${n % 4}`, n % 5, `s${n}`]);
    await consume(...keys.map((key, n) => change(key, 'a', n + 1)));
    const told = new Map<string, string | undefined>();
    for (const partition of ['0', '1']) {
      const count = hubs.hubs.events('telemetry').filter((event) => event.partition === partition).length;
      expect(count).toBeGreaterThan(1);
      const reading = hubs.read(hubs.consumer(), partition, earliestEventPosition);
      for (const { body, partitionKey } of await reading.until(count)) {
        told.set(partitionKey ?? '', partition);
        expect(partitionKey).toBe((body as { partitionkey: string }).partitionkey);
      }
    }
    expect([...told.keys()].toSorted()).toEqual(keys.map((key) => JSON.stringify(key)).toSorted());
    // The hub itself, given the same keys, chooses the same partitions.
    for (const key of told.keys()) await producer.sendBatch([{ body: 'by key' }], { partitionKey: key });
    const byKey = hubs.hubs.events('telemetry').filter(({ body }) => body === 'by key');
    expect(new Map(byKey.map(({ partitionKey, partition }) => [partitionKey, partition]))).toEqual(told);
  });

  it('an event may be the data alone, with the rest as properties, and shaped by map', async () => {
    await using hubs = await openHubs();
    const producer = hubs.producer();
    const { consume } = publishing(async () => producer, {
      format: 'raw',
      map: (doc) => ({ only: doc['lsn'] }),
      where: (doc) => doc['lsn'] !== 2,
    });
    await consume(change(['k'], 'a', 1), change(['k'], 'b', 2), change(['k'], 'c', 3, { op: 'delete' }));
    expect(hubs.hubs.events('telemetry')).toMatchObject([
      { body: { only: 1 }, properties: { op: 'upsert', partitionkey: '["k"]' } },
      { body: { only: 3 }, properties: { op: 'delete' } },
    ]);
  });

  it('an event has both images where the feed has them', async () => {
    await using hubs = await openHubs();
    const producer = hubs.producer();
    const { consume } = publishing(async () => producer, { images: true, map: (doc) => doc['lsn'] });
    const before = { id: 'a', type: 'order', lsn: 1, _ts: 5, _mr: {} };
    await consume(
      change(['k'], 'a', 1, { operation: 'create' }),
      change(['k'], 'a', 2, { operation: 'replace', before }),
      { ...change(['k'], 'a', 3, { op: 'delete', operation: 'delete', before }), doc: undefined as never },
    );
    expect(bodies(hubs.hubs.events('telemetry')).map(({ op, data }) => [op, data])).toEqual([
      ['create', { after: 1 }],
      ['replace', { before: 1, after: 2 }],
      ['delete', { before: 1, after: null }],
    ]);
  });

  it('an event is ordered by a hash where the key is long, and by the document where that is declared', async () => {
    await using hubs = await openHubs();
    const producer = hubs.producer();
    const long = 'x'.repeat(300);
    await publishing(async () => producer).consume(change([long, 'b', 3], 'a', 1));
    await publishing(async () => producer, { order: 'document' }).consume(change(['k'], 'a', 1));
    const keys = bodies(hubs.hubs.events('telemetry')).map(({ partitionkey }) => partitionkey);
    expect(keys).toHaveLength(2);
    expect(keys).toEqual(expect.arrayContaining([expect.stringMatching(/^[\w-]{43}$/), '["k","a"]']));
  });
});

describe('what is no news', () => {
  it('what is no news is what comes back from the archive unchanged', async () => {
    await using hubs = await openHubs();
    const producer = hubs.producer();
    const { consume } = publishing(async () => producer);
    await consume(change(['k'], 'b', 2, { restored: true }));
    expect(hubs.hubs.events('telemetry')).toEqual([]);
  });

  it('what is no news is an echo: content that was published already, whatever its version and ttl', async () => {
    await using hubs = await openHubs();
    const producer = hubs.producer();
    const { consume } = publishing(async () => producer, {}, { echoes: true });
    const same = (lsn: number, more: object = {}): Change =>
      change(['k'], 'a', lsn, { doc: { id: 'a', n: 1, ...more } });
    await consume(same(1));
    await consume(same(2), same(3, { ttl: 60 }));
    await consume(same(4, { n: 2 }), same(5));
    expect(bodies(hubs.hubs.events('telemetry')).map(({ sequence }) => Number(String(sequence).slice(7)))).toEqual([
      1, 4, 5,
    ]);
  });

  it('no event is sent for what a backfill wrote, nor for a projection’s write upon it', async () => {
    await using hubs = await openHubs();
    const producer = hubs.producer();
    const { consume } = publishing(async () => producer, {}, { echoes: true });
    const of = (lsn: number, doc: object, more: Partial<Change> = {}): Change =>
      change(['k'], 'a', lsn, { doc: { id: 'a', ...doc }, ...more });
    await consume(of(1, { n: 1 }));
    await consume(of(2, { n: 1, tenant: 't' }, { backfilled: true }), of(3, { n: 1, tenant: 't', ttl: 9 }));
    await consume(of(4, { n: 2, tenant: 't' }));
    expect(bodies(hubs.hubs.events('telemetry')).map(({ data }) => data)).toEqual([
      { id: 'a', n: 1 },
      { id: 'a', n: 2, tenant: 't' },
    ]);
  });
});

describe('bad input', () => {
  it('a publish keeps what is parked when the archive or a backfill writes the document', async () => {
    await using hubs = await openHubs();
    const producer = hubs.producer();
    const { consume, letters } = publishing(async () => producer, {
      map: (doc) => {
        throw new Error(`not ${String(doc['id'])}`);
      },
    });
    await consume(change(['k'], 'a', 1));
    for (const mark of [{ restored: true }, { backfilled: true }]) await consume(change(['k'], 'a', 2, mark));
    expect(await letters()).toMatchObject([{ id: 'a', version: { lsn: 1 }, attempts: 1 }]);
  });

  it('a publish parks an event over the hub’s limit by name, and holds the later changes of its key, and no other', async () => {
    await using hubs = await openHubs({ maxMessageBytes: 20_000 });
    const producer = hubs.producer();
    const { consume, letters } = publishing(async () => producer);
    const large = change(['k1'], 'big', 2, { doc: { id: 'big', text: 'x'.repeat(30_000) } });
    const outcome = await consume(change(['k1'], 'a', 1), large, change(['k1'], 'b', 3), change(['k2'], 'c', 4));
    expect(outcome).toEqual({ applied: 2, parked: 2 });
    await consume(change(['k1'], 'a', 5), change(['k2'], 'c', 6));
    const ids = (): unknown[] => bodies(hubs.hubs.events('telemetry')).map(({ data }) => (data as { id: string }).id);
    expect(ids()).toHaveLength(3);
    expect(ids()).toEqual(expect.arrayContaining(['a', 'c', 'c']));
    expect(await letters()).toMatchObject([
      { id: 'big', code: 'too-large', message: expect.stringContaining('telemetry accepts 20,000') },
      { id: 'b', code: 'waits-behind-parked', waits: true },
      { id: 'a', code: 'waits-behind-parked', version: { lsn: 5 } },
    ]);
    // The document is corrected: what waited goes first, in its order.
    await consume(change(['k1'], 'big', 7));
    const own = bodies(hubs.hubs.events('telemetry')).filter(({ partitionkey }) => partitionkey === '["k1"]');
    expect(own.map(({ data }) => (data as { id: string }).id)).toEqual(['a', 'b', 'a', 'big']);
    expect(await letters()).toEqual([]);
  });

  it('a publish holds a large document whole behind a parked one, and lets it go in its turn', async () => {
    await using hubs = await openHubs();
    const producer = hubs.producer();
    let broken = true;
    const map = ({ id, text }: Record<string, unknown>): unknown => {
      if (id === 'bad' && broken) throw new Error('no total');
      return { id, length: typeof text === 'string' ? text.length : 0 };
    };
    const { consume, letters } = publishing(async () => producer, { map });
    const large = change(['k1'], 'large', 2, { doc: { id: 'large', text: 'ü'.repeat(1_500_000) } });
    await consume(change(['k1'], 'bad', 1), large, change(['k1'], 'last', 3));
    expect(hubs.hubs.events('telemetry')).toEqual([]);
    broken = false;
    await consume(change(['k1'], 'bad', 4));
    expect(bodies(hubs.hubs.events('telemetry')).map(({ data }) => data)).toEqual([
      { id: 'large', length: 1_500_000 },
      { id: 'last', length: 0 },
      { id: 'bad', length: 0 },
    ]);
    expect(await letters()).toEqual([]);
  });

  it('a publish parks what map throws at, and goes on with the other keys', async () => {
    await using hubs = await openHubs();
    const producer = hubs.producer();
    const map = (doc: Record<string, unknown>): unknown => {
      if (doc['id'] === 'bad') throw new Error('no total');
      return doc;
    };
    const { consume, letters } = publishing(async () => producer, { map });
    await consume(change(['k1'], 'bad', 1), change(['k2'], 'good', 2));
    expect(hubs.hubs.events('telemetry')).toHaveLength(1);
    expect(await letters()).toMatchObject([{ id: 'bad', code: 'projection-threw', message: 'no total' }]);
  });

  it('a publish says that the hub is not there or refuses us, and parks nothing', async () => {
    const reader = { name: 'reader', key: 'cmVhZGVy', rights: ['Listen'] as const };
    await using hubs = await openHubs({ keys: [reader] });
    const missing = hubs.producer('none');
    const nowhere = publishing(async () => missing, { to: 'none' });
    await expect(nowhere.consume(change(['k'], 'a', 1))).rejects.toMatchObject({
      code: 'missing',
      retryable: true,
    });
    const denied = hubs.producer('telemetry', hubs.hubs.connectionStringOf(reader));
    const refused = publishing(async () => denied);
    await expect(refused.consume(change(['k'], 'a', 1))).rejects.toMatchObject({ code: 'denied' });
    expect([...(await nowhere.letters()), ...(await refused.letters())]).toEqual([]);
  });

  it('a publish takes another client instead of one that hangs', async () => {
    await using hubs = await openHubs();
    // Accepts connections and never says a word.
    const silent = createServer().listen(0, '127.0.0.1');
    const sockets = new Set<Socket>();
    silent.on('connection', (socket) => sockets.add(socket));
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const hangs = hubs.producer('telemetry', hubs.hubs.connectionString.replace(/:\d+;/, `:${port};`));
    const good = hubs.producer();
    const told: unknown[] = [];
    const { consume } = publishing(
      async (instead) => (told.push(instead), instead ? good : hangs),
      {},
      { attemptMs: 20 },
    );
    await consume(change(['k'], 'a', 1));
    expect(hubs.hubs.events('telemetry')).toHaveLength(1);
    expect(told.includes(hangs)).toBe(true);
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  it('a publish holds what is to be published while the broker is away, and goes on in order', async () => {
    await using hubs = await openHubs({}, 1_000);
    const producer = hubs.producer();
    const { consume } = publishing(async () => producer, {}, { attemptMs: 300, patienceMs: 500 });
    await consume(change(['k'], 'a', 1));
    await hubs.hubs.suspend();
    const page = [change(['k'], 'b', 2), change(['k'], 'a', 3)];
    await expect(consume(...page)).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    await hubs.hubs.resume();
    await consume(...page);
    expect(bodies(hubs.hubs.events('telemetry')).map(({ data }) => (data as { lsn: number }).lsn)).toEqual([1, 2, 3]);
  });

  it('a publish publishes where the host that asked for the partitions first has lost its lease', async () => {
    await using hubs = await openHubs();
    const opened = Promise.withResolvers<EventHubProducerClient>();
    const sink = new EventHubSink('telemetry', () => opened.promise);
    const publish = ({ signal }: AbortController) =>
      sink.publish([{ partitionKey: 'k', event: { body: 1 } }], {
        kind: 'lease',
        tenure: {},
        signal,
        assert: () => {},
      });
    const losing = new AbortController();
    const both = Promise.allSettled([publish(losing), publish(new AbortController())]);
    losing.abort(new Error('the lease is lost'));
    opened.resolve(hubs.producer());
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(bodies(hubs.hubs.events('telemetry'))).toHaveLength(1);
  });

  it('a publish sends nothing once the fence says stop', async () => {
    await using hubs = await openHubs();
    const producer = hubs.producer();
    const sink = new EventHubSink('telemetry', async () => producer);
    const stop = new Error('the lease is lost');
    const fence: Fence = {
      kind: 'lease',
      tenure: {},
      signal: new AbortController().signal,
      assert: () => {
        throw stop;
      },
    };
    await expect(sink.publish([{ partitionKey: 'k', event: { body: 1 } }], fence)).rejects.toBe(stop);
    expect(hubs.hubs.events('telemetry')).toEqual([]);
  });
});

describe('every version of many documents', () => {
  const seed = suiteSeed();

  it(`every version of many documents is there, each key in order, while links break at random (seed ${seed})`, async () => {
    const random = new Random(seed);
    await using hubs = await openHubs({ seed, hubs: { telemetry: { partitions: 4 } } });
    const producer = hubs.producer();
    const { consume } = publishing(async () => producer, {}, { attemptMs: 400 });
    hubs.hubs.faults({ failBefore: 0.02, failAfterEffect: 0.02 });
    const expected = new Map<string, number[]>();
    for (let page = 0, lsn = 0; page < 10; page++) {
      const changes = Array.from({ length: 2_000 }, () => {
        const key = [`t${random.int(20)}`, `r${random.int(5)}`, random.int(10)];
        lsn += 1;
        const name = JSON.stringify(key);
        const own = expected.get(name) ?? [];
        expected.set(name, own);
        own.push(lsn);
        return change(key, `d${random.int(3)}`, lsn);
      });
      if (random.chance(0.2)) hubs.hubs.dropLinks();
      // As the feed does: a page that failed is read again, and now and then one that didn't.
      const deliver = (): Promise<unknown> => consume(...changes).catch(() => deliver());
      await deliver();
      if (page === 0 || random.chance(0.05)) await deliver();
    }
    const seen = new Map<string, string>();
    const differing: string[] = [];
    const published = bodies(hubs.hubs.events('telemetry'));
    const found = new Map<string, number[]>();
    for (const event of published) {
      const text = JSON.stringify(event);
      const id = String(event['id']);
      const before = seen.get(id);
      seen.set(id, text);
      if (before !== undefined && before !== text) differing.push(id);
      if (before === undefined) {
        const key = String(event['partitionkey']);
        const own = found.get(key) ?? [];
        found.set(key, own);
        own.push((event['data'] as { lsn: number }).lsn);
      }
    }
    expect(differing).toEqual([]);
    expect(published.length).toBeGreaterThan(20_000);
    expect(seen.size).toBe(20_000);
    expect(found).toEqual(expected);
  }, 300_000);
});
