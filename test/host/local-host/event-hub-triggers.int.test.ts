import { BlobServiceClient } from '@azure/storage-blob';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { FunctionMetadata, Invocation, TriggerRetryOptions } from '../../../src/host/local-host/core.ts';
import { invocationOf } from '../../../src/host/local-host/event-hub-data.ts';
import { eventHubTriggers, runEventHubTrigger } from '../../../src/host/local-host/event-hub-triggers.ts';
import { openHubs } from '../../emulator/hubs.ts';
import { type Azurite, startAzurite } from '../../support/azurite.ts';

let azurite: Azurite;
beforeAll(async () => (azurite = await startAzurite()));
afterAll(() => azurite.close());

const NAMESPACE = 'Endpoint=sb://none/;SharedAccessKeyName=a;SharedAccessKey=c2VjcmV0';
const ENV = { HUBS: NAMESPACE, AzureWebJobsStorage: 'UseDevelopmentStorage=true' };

const trigger = (
  name: string,
  more: Record<string, unknown> = {},
  retryOptions?: TriggerRetryOptions,
): FunctionMetadata => ({
  name,
  bindings: {
    events: { type: 'eventHubTrigger', direction: 'in', connection: 'HUBS', eventHubName: 'telemetry', ...more },
  },
  ...(retryOptions && { retryOptions }),
});

describe('a binding', () => {
  it('a binding has its settings put in, the host’s defaults, and the host’s own storage for positions', () => {
    const env = { ...ENV, HUBS: `${NAMESPACE};EntityPath=telemetry`, GROUP: 'second' };
    const [read] = eventHubTriggers([trigger('a', { consumerGroup: '%GROUP%' })], env);
    expect(read).toMatchObject({
      hub: 'telemetry',
      consumerGroup: 'second',
      cardinality: 'one',
      dataType: 'json',
      retry: undefined,
      settings: {
        eventHubs: { account: { kind: 'key', connectionString: NAMESPACE }, checkpoints: 'azure-webjobs-eventhub' },
        storage: { account: { kind: 'key', connectionString: 'UseDevelopmentStorage=true' } },
      },
    });
    const identity = {
      HUBS__fullyQualifiedNamespace: 'shop.servicebus.windows.net',
      AzureWebJobsStorage__accountName: 'st',
    };
    expect(eventHubTriggers([trigger('a')], identity)[0]?.settings).toMatchObject({
      eventHubs: { account: { kind: 'identity', namespace: 'shop.servicebus.windows.net' } },
      storage: { account: { kind: 'identity', endpoint: 'https://st.blob.core.windows.net' } },
    });
  });

  it('a binding may name a hub and a group that another has in another namespace', () => {
    const env = {
      ...ENV,
      HUBS__fullyQualifiedNamespace: 'shop.servicebus.windows.net',
      OTHER__fullyQualifiedNamespace: 'other.servicebus.windows.net',
      HUBS: undefined,
    };
    expect(eventHubTriggers([trigger('a'), trigger('b', { connection: 'OTHER' })], env)).toHaveLength(2);
    expect(() => eventHubTriggers([trigger('a'), trigger('b')], env)).toThrow(/a and b read telemetry/);
  });

  it.each([
    [
      'two triggers in one consumer group',
      [trigger('a'), trigger('b', { consumerGroup: '$default' })],
      ENV,
      /a and b read telemetry in consumer group/,
    ],
    [
      'a name without its setting',
      [trigger('a', { eventHubName: '%HUB%' })],
      ENV,
      /setting HUB is missing; function a/,
    ],
    [
      'an invalid connection',
      [trigger('a')],
      { ...ENV, HUBS: 'secret' },
      /The setting HUBS: must be a connection string/,
    ],
    ['no storage of the host', [trigger('a')], { HUBS: NAMESPACE }, /AzureWebJobsStorage is missing/],
    [
      'an invalid storage',
      [trigger('a')],
      { ...ENV, AzureWebJobsStorage: 'secret' },
      /The setting AzureWebJobsStorage: must be/,
    ],
  ])('a binding is refused for %s, with a hint', (_, functions, env, message) => {
    let thrown: unknown;
    try {
      eventHubTriggers(functions, env);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ message: expect.stringMatching(message), hint: expect.any(String) });
    expect(String(thrown)).not.toContain('secret');
  });
});

describe('an invocation', () => {
  const event = (body: unknown, sequenceNumber: number) => ({
    body,
    sequenceNumber,
    offset: String(sequenceNumber * 10),
    enqueuedTimeUtc: new Date('2026-11-01T06:00:00Z'),
    properties: { Kind: 'k' },
    ...(sequenceNumber === 1 && { partitionKey: 'p' }),
  });
  const events = [event(Buffer.from('{"at":"2026-01-01T00:00:00.500Z"}'), 1), event(Buffer.from('{"n":2}'), 2)];
  const place = { hub: 'h', consumerGroup: 'g', partition: '3' };
  const shape = (cardinality: 'one' | 'many', dataType: 'binary' | 'string' | 'json') =>
    invocationOf(events, { cardinality, dataType }, place);

  it('an invocation has bodies as bytes, as text or as the host’s JSON, and one list a property beside them', () => {
    expect(shape('many', 'binary').data).toEqual({ collectionBytes: { bytes: events.map(({ body }) => body) } });
    expect(shape('many', 'string').data).toEqual({
      collectionString: { string: events.map(({ body }) => String(body)) },
    });
    expect(shape('many', 'json').data).toEqual({ json: '[{"at":"2026-01-01T00:00:00.5Z"},{"n":2}]' });
    expect(shape('one', 'json').data).toEqual({ json: '{"at":"2026-01-01T00:00:00.5Z"}' });
    const { triggerMetadata = {} } = shape('many', 'binary');
    const told = Object.fromEntries(
      Object.entries(triggerMetadata).map(([name, { json = '' }]) => [name, JSON.parse(json) as unknown]),
    );
    expect(told).toEqual({
      PartitionContext: { EventHubName: 'h', ConsumerGroup: 'g', PartitionId: '3' },
      SequenceNumberArray: [1, 2],
      OffsetArray: ['10', '20'],
      EnqueuedTimeUtcArray: ['2026-11-01T06:00:00.000Z', '2026-11-01T06:00:00.000Z'],
      PartitionKeyArray: ['p', null],
      PropertiesArray: [{ Kind: 'k' }, { Kind: 'k' }],
      SystemPropertiesArray: [{}, {}],
    });
    expect(shape('one', 'json').triggerMetadata).toMatchObject({
      SequenceNumber: { json: '1' },
      PartitionKey: { json: '"p"' },
    });
  });

  it('an invocation can’t be made as JSON of an event that isn’t JSON: the host gives up the batch', () => {
    expect(() =>
      invocationOf([event(Buffer.from('{ no'), 1)], { cardinality: 'many', dataType: 'json' }, place),
    ).toThrow(/An event is not JSON/);
  });
});

describe('a running trigger', () => {
  /** Runs a trigger until `until` is true of what was delivered; each delivery is the numbers of its events. */
  async function run(
    connectionString: string,
    metadata: FunctionMetadata,
    storage: string,
    act: (delivered: readonly number[]) => void,
    until: (deliveries: readonly (readonly number[])[], said: readonly string[]) => boolean,
  ) {
    const [read] = eventHubTriggers([metadata], { HUBS: connectionString, AzureWebJobsStorage: storage });
    const deliveries: number[][] = [];
    const said: string[] = [];
    const ending = new AbortController();
    const running = await runEventHubTrigger(read!, {
      host: { maxEventBatchSize: 2, start: { offset: '-1' } },
      say: (line) => void said.push(line),
      signal: ending.signal,
      clock: { now: Date.now, monotonic: () => performance.now(), sleep: async () => undefined },
      deliver: async (_name, { data }: Invocation) => {
        const bodies = data.json === undefined ? (data.collectionBytes?.bytes ?? []).map(String) : [data.json];
        const numbers = bodies.map(Number);
        deliveries.push(numbers);
        act(numbers);
      },
    });
    await expect.poll(() => until(deliveries, said), { timeout: 60_000, interval: 5 }).toBe(true);
    ending.abort(new Error('The host ends'));
    await running[Symbol.asyncDispose]();
    return { deliveries, said };
  }
  // Hubs of another test have the same name, and positions of those would be refused.
  afterEach(async () => {
    const blobs = BlobServiceClient.fromConnectionString(azurite.connectionString);
    await blobs.getContainerClient('azure-webjobs-eventhub').deleteIfExists();
  });
  const storage = (): string => azurite.connectionString;
  const many = { cardinality: 'many', dataType: 'binary' };

  it('a running trigger delivers each partition in order, again where the function throws, and goes on behind its position', async () => {
    await using hubs = await openHubs();
    const send = (...numbers: number[]): Promise<void> =>
      hubs.producer().sendBatch(
        numbers.map((body) => ({ body })),
        { partitionId: '0' },
      );
    await send(0, 1, 2, 3, 4);
    let failures = 0;
    const metadata = trigger('steady', many, { retryStrategy: 'fixedDelay', maxRetryCount: -1 });
    const flaky = (numbers: readonly number[]): void => {
      if (numbers.includes(2) && failures++ < 3) throw new Error('not yet');
    };
    const first = await run(hubs.hubs.connectionString, metadata, storage(), flaky, (all) => all.flat().includes(4));
    const succeeded = first.deliveries.filter(
      (numbers, index) => index < 1 || first.deliveries[index - 1]?.[0] !== numbers[0],
    );
    expect(succeeded.flat()).toEqual([0, 1, 2, 3, 4]);
    expect(first.deliveries.filter((numbers) => numbers.includes(2))).toHaveLength(4);
    expect(first.said.filter((line) => line.includes('not yet; retry in'))).toHaveLength(3);
    await send(5, 6);
    const second = await run(
      hubs.hubs.connectionString,
      metadata,
      storage(),
      () => undefined,
      (all) => all.flat().includes(6),
    );
    expect(second.deliveries.flat().filter((n) => n < 4)).toEqual([]);
  });

  it('a running trigger passes by what a function without a retry policy throws at, and says that it is lost', async () => {
    await using hubs = await openHubs();
    await hubs.producer().sendBatch([{ body: 1 }, { body: 2 }], { partitionId: '1' });
    const { deliveries, said } = await run(
      hubs.hubs.connectionString,
      trigger('careless', { cardinality: 'one' }),
      storage(),
      ([n]) => {
        if (n === 1) throw new Error('no');
      },
      (all) => all.flat().includes(2),
    );
    expect(deliveries).toEqual([[1], [2]]);
    expect(said.join('\n')).toMatch(/careless: no; 1 event of partition 1 LOST, as in Azure: the function has no/);
  });

  it.each([
    ['a hub', { eventHubName: 'nowhere' }, 'missing', /nowhere/],
    ['a consumer group', { consumerGroup: 'nobody' }, 'missing', /consumer group nobody/],
  ])('a running trigger does not start on %s that isn’t there', async (_, more, code, message) => {
    await using hubs = await openHubs();
    const starting = run(
      hubs.hubs.connectionString,
      trigger('lost', { ...many, ...more }),
      storage(),
      () => undefined,
      () => true,
    );
    await expect(starting).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it('a running trigger says by the app’s own names which setting is wrong', async () => {
    await using hubs = await openHubs();
    const nobody = 'DefaultEndpointsProtocol=http;AccountKey=c2VjcmV0';
    const starting = run(
      hubs.hubs.connectionString,
      trigger('unstored', many),
      nobody,
      () => undefined,
      () => true,
    );
    await expect(starting).rejects.toMatchObject({
      code: 'setting-invalid',
      message: expect.stringContaining('The setting AzureWebJobsStorage'),
    });
  });
});
