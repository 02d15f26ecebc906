import { setTimeout as delay } from 'node:timers/promises';
import type { EventData, EventHubProducerClient, SubscriptionEventHandlers } from '@azure/event-hubs';
import { EventHubSink } from '../../src/access/event-hub.ts';
import type { HubClients } from '../../src/access/hub-clients.ts';
import type { Doc } from '../../src/pipeline/specs.ts';
import { boundary } from '../support/crashes.ts';

/** An event hub with one partition and one consumer group, as far as a producer and a consumer use it. */
export class MemoryHub {
  readonly events: { readonly id: string; readonly data: Doc | null }[] = [];
  /** The sequence number of the last event that the consumer group has passed. */
  #passed = -1;

  /** As a hub that was just made. */
  empty(): void {
    this.events.splice(0);
    this.#passed = -1;
  }

  readonly sink = (hub: string): EventHubSink => new EventHubSink(hub, async () => this.#producer as never);

  readonly clients: Pick<HubClients, 'check' | 'positions' | 'consumer'> = {
    check: async () => undefined,
    positions: () => ({ assertFit: async () => undefined, forget: async () => [] }),
    consumer: async () =>
      ({
        client: this.#consumer,
        store: {
          listOwnership: async () => [],
          listCheckpoints: async () => [{ partitionId: '0', sequenceNumber: this.#passed }],
        },
      }) as never,
  };

  readonly #consumer = {
    getPartitionIds: async () => ['0'],
    getPartitionProperties: async () => ({
      isEmpty: this.events.length === 0,
      lastEnqueuedSequenceNumber: this.events.length - 1,
    }),
    subscribe: ({ processEvents, processError }: SubscriptionEventHandlers) => {
      const closing = new AbortController();
      const context = {
        partitionId: '0',
        updateCheckpoint: ({ sequenceNumber }: { readonly sequenceNumber: number }) =>
          boundary('hub checkpoint', true, async () => void (this.#passed = sequenceNumber)),
      } as never;
      const reading = (async () => {
        for (let next: number | undefined; !closing.signal.aborted; await delay(POLL_MS))
          try {
            const from = (next ??= (await boundary('hub position', false, async () => this.#passed)) + 1);
            const events = await boundary('hub receive', false, async () => this.#from(from));
            if (events.length > 0) await processEvents(events as never, context);
            next = from + events.length;
          } catch (error) {
            next = undefined;
            await processError(error as Error, context);
          }
      })();
      const close = async (): Promise<void> => {
        closing.abort();
        await reading;
      };
      return { close };
    },
    close: async () => undefined,
  };

  #from = (sequence: number) =>
    this.events.slice(sequence).map(({ id, data }, at) => ({
      body: Buffer.from(JSON.stringify({ id, ...data })),
      sequenceNumber: sequence + at,
      offset: String(sequence + at),
      enqueuedTimeUtc: new Date(0),
    }));

  readonly #producer: Pick<EventHubProducerClient, 'getPartitionIds'> & Record<string, unknown> = {
    getPartitionIds: () => boundary('hub partitions', false, async () => ['0']),
    createBatch: async () => {
      const events: EventData[] = [];
      return {
        events,
        maxSizeInBytes: 1_000_000,
        tryAdd: (event: EventData) => events.push(event) > 0,
        get count() {
          return events.length;
        },
      };
    },
    sendBatch: ({ events }: { readonly events: readonly EventData[] }) =>
      boundary('hub send', true, async () => {
        for (const { body } of events) this.events.push(JSON.parse(String(body)) as never);
      }),
    close: async () => undefined,
  };
}

const POLL_MS = 500;
