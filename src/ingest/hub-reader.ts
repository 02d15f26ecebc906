import type {
  EventHubConsumerClient,
  EventPosition,
  PartitionContext,
  ReceivedEventData,
  Subscription,
} from '@azure/event-hubs';
import { type Clock, systemClock } from '../base/clock.ts';
import type { HubClients, HubConsumer } from '../access/hub-clients.ts';
import { sharedError } from '../base/shared-errors.ts';

export interface HubReaderOptions {
  readonly hubs: HubClients;
  readonly hub: string;
  readonly consumerGroup: string;
  /** This host's name, by which it owns its partitions again after a restart. */
  readonly host: string;
  /** The most events of one call; the client reads a multiple of it ahead. */
  readonly batch: number;
  /** Where a partition without a checkpoint begins; default: its first event. */
  readonly start?: EventPosition;
  /** Resolves when the checkpoint may pass the events. If it rejects, it is called again with the same events. */
  readonly handle: (events: readonly ReceivedEventData[], partition: string, signal: AbortSignal) => Promise<void>;
  /** Called at every failure, before the next attempt. */
  readonly failed: (error: unknown, partition: string) => void;
  readonly clock?: Clock;
}

/**
 * Reads an event hub together with the other hosts of its consumer group, each partition's events in their order. A
 * checkpoint passes only events that were handled; after a crash, the events after the last checkpoint come again.
 */
export class HubReader {
  readonly #options: HubReaderOptions;
  readonly #clock: Clock;
  /** Sequence number of the last event handled, by partition. */
  readonly #handled = new Map<string, number>();
  readonly #stopping = new AbortController();
  #open: { consumer: HubConsumer; subscription: Subscription } | undefined;

  constructor(options: HubReaderOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** @throws UsageError if the hub, the right to it or the checkpoint store is missing, or the positions are of another hub */
  async start(): Promise<void> {
    const { hubs, hub, consumerGroup, host, batch, start } = this.#options;
    await hubs.check(hub, consumerGroup);
    await hubs.positions(hub, consumerGroup).assertFit();
    const consumer = await hubs.consumer(hub, consumerGroup, host);
    await giveUpFormer(consumer, consumerGroup, host);
    const subscription = consumer.client.subscribe(
      {
        processEvents: (events, context) => this.#take(events, context),
        processError: async (error, { partitionId }) => this.#failed(error, partitionId),
      },
      {
        startPosition: start ?? { offset: '-1' },
        maxBatchSize: batch,
        maxWaitTimeInSeconds: 5,
        skipParsingBodyAsJson: true,
      },
    );
    this.#open = { consumer, subscription };
  }

  /** Gives the partitions back; events that aren't handled by then come again. */
  async stop(): Promise<void> {
    this.#stopping.abort(sharedError('aborted', 'The host is stopping'));
    const open = this.#open;
    this.#open = undefined;
    await open?.subscription.close();
    await open?.consumer.client.close();
  }

  /** True if every event that the hub has now is handled, by this host or another. */
  async caughtUp(): Promise<boolean> {
    const open = this.#open;
    if (!open) return false;
    const { client, store } = open.consumer;
    const { fullyQualifiedNamespace: namespace, eventHubName } = client;
    const checkpoints = await store.listCheckpoints(namespace, eventHubName, this.#options.consumerGroup);
    for (const partition of await client.getPartitionIds()) {
      const handled = Math.max(
        this.#handled.get(partition) ?? -1,
        checkpoints.find(({ partitionId }) => partitionId === partition)?.sequenceNumber ?? -1,
      );
      if (handled < (await lastOf(client, partition))) return false;
    }
    return true;
  }

  async #take(events: readonly ReceivedEventData[], context: PartitionContext): Promise<void> {
    const last = events.at(-1);
    if (!last) return;
    const partition = context.partitionId;
    const done =
      (await this.#untilDone(partition, (signal) => this.#options.handle(events, partition, signal))) &&
      (await this.#untilDone(partition, () => context.updateCheckpoint(last)));
    if (done) this.#handled.set(partition, last.sequenceNumber);
  }

  /** False: the host stops. It never throws: the client would skip events whose handler threw (ASM-H8). */
  async #untilDone(partition: string, run: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
    const { signal } = this.#stopping;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        await run(signal);
        return true;
      } catch (error) {
        this.#failed(error, partition);
        await this.#clock.sleep(Math.min(30_000, 100 * 2 ** Math.min(failures, 9)), signal).catch(() => undefined);
      }
    }
    return false;
  }

  #failed(error: unknown, partition: string): void {
    if (!this.#stopping.signal.aborted) this.#options.failed(error, partition);
  }
}

/**
 * Gives up the partitions that a killed host of this name still owns. The client would wait a minute until its own
 * former ownership has expired.
 */
async function giveUpFormer({ client, store }: HubConsumer, group: string, host: string): Promise<void> {
  const owned = await store.listOwnership(client.fullyQualifiedNamespace, client.eventHubName, group);
  const former = owned.filter(({ ownerId }) => ownerId === host);
  if (former.length > 0) await store.claimOwnership(former.map((ownership) => ({ ...ownership, ownerId: '' })));
}

async function lastOf(client: EventHubConsumerClient, partition: string): Promise<number> {
  const { isEmpty, lastEnqueuedSequenceNumber } = await client.getPartitionProperties(partition);
  return isEmpty ? -1 : lastEnqueuedSequenceNumber;
}
