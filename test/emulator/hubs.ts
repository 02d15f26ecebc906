import {
  EventHubConsumerClient,
  EventHubProducerClient,
  type EventPosition,
  type ReceivedEventData,
  type SubscribeOptions,
  type CheckpointStore,
  earliestEventPosition,
} from '@azure/event-hubs';
import { type EventHubs, type EventHubsOptions, startEventHubs } from '../../src/emulator/eventhubs/index.ts';

/** A namespace with one hub `telemetry` of two partitions; it and every client on it end with the scope. */
export async function openHubs(options: Partial<EventHubsOptions> = {}, timeoutInMs = 20_000) {
  // Microsoft's clients as they are, except that the test decides what is tried again.
  const clientOptions = {
    retryOptions: { maxRetries: 0, timeoutInMs },
    loadBalancingOptions: { strategy: 'greedy' as const, updateIntervalInMs: 200 },
  };
  const hubs: EventHubs = await startEventHubs({
    hubs: { telemetry: { partitions: 2, consumerGroups: ['second'] } },
    ...options,
  });
  const closing: (() => Promise<unknown>)[] = [];
  const producer = (hub = 'telemetry', connection = hubs.connectionString): EventHubProducerClient => {
    const client = new EventHubProducerClient(connection, hub, clientOptions);
    closing.push(() => client.close());
    return client;
  };
  const consumer = (group = '$Default', hub = 'telemetry', store?: CheckpointStore): EventHubConsumerClient => {
    const client = store
      ? new EventHubConsumerClient(group, hubs.connectionString, hub, store, clientOptions)
      : new EventHubConsumerClient(group, hubs.connectionString, hub, clientOptions);
    closing.push(() => client.close());
    return client;
  };
  return {
    hubs,
    producer,
    consumer,
    /** Reads one partition until `count` events came; `failed` rejects with the first error that it is told. */
    read: (client: EventHubConsumerClient, partition: string, from: EventPosition, more: SubscribeOptions = {}) => {
      const received: ReceivedEventData[] = [];
      const waiting = new Set<() => void>();
      const failure = Promise.withResolvers<never>();
      failure.promise.catch(() => undefined);
      const subscription = client.subscribe(
        partition,
        {
          processEvents: async (events) => {
            received.push(...events);
            for (const check of waiting) check();
          },
          processError: async (error) => failure.reject(error),
        },
        { startPosition: from, maxWaitTimeInSeconds: 1, ...more },
      );
      closing.unshift(() => subscription.close());
      const until = (count: number): Promise<ReceivedEventData[]> => {
        const { promise, resolve } = Promise.withResolvers<ReceivedEventData[]>();
        const check = (): void => {
          if (received.length >= count) resolve(received);
        };
        waiting.add(check);
        check();
        return Promise.race([promise, failure.promise]);
      };
      return { received, until, failed: failure.promise, close: () => subscription.close() };
    },
    [Symbol.asyncDispose]: async () => {
      for (const close of closing) await close().catch(() => undefined);
      await hubs.close();
    },
  };
}

export { earliestEventPosition };
