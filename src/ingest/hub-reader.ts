import type {
  EventHubConsumerClient,
  EventPosition,
  PartitionContext,
  ReceivedEventData,
  Subscription,
} from '@azure/event-hubs';
import { type Clock, systemClock } from '../base/clock.ts';
import { MillraceError } from '../base/errors.ts';
import type { HubClients, HubConsumer } from '../sinks/hub-clients.ts';

export interface HubReaderOptions {
  readonly hubs: HubClients;
  readonly hub: string;
  readonly consumerGroup: string;
  /** This host's name, by which it takes its partitions up again after a restart. */
  readonly host: string;
  /** Most events handed on at once; what is read ahead is a multiple of it. */
  readonly batch: number;
  /** Where a partition without a checkpoint begins; default with its first event. */
  readonly start?: EventPosition;
  /** Resolves once the events may be passed by for good. Where it rejects it is called again with the same events. */
  readonly handle: (events: readonly ReceivedEventData[], partition: string, signal: AbortSignal) => Promise<void>;
  /** Told of every failure, before what failed is tried again. */
  readonly failed: (error: unknown, partition: string) => void;
  readonly clock?: Clock;
}

/**
 * Reads an event hub together with the other hosts of its consumer group, each partition's events in their order. A
 * checkpoint moves only behind events that were handled; after a crash those behind the last one come again.
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

  /** @throws UsageError where the hub, the right to it or the checkpoint store is missing */
  async start(): Promise<void> {
    const { hubs, hub, consumerGroup, host, batch, start } = this.#options;
    await hubs.check(hub, consumerGroup);
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

  /** Gives the partitions back; events in hand that aren't done by then come again. */
  async stop(): Promise<void> {
    this.#stopping.abort(new MillraceError('aborted', 'The host is stopping'));
    const open = this.#open;
    this.#open = undefined;
    await open?.subscription.close();
    await open?.consumer.client.close();
  }

  /** True once every event that the hub held when it was asked is handled, by this host or another. */
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

  /** False: the host stops. The client would go on behind events whose handler threw, so nothing is thrown (H8). */
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
 * Gives up what a host of this name still owns: it was killed, and the client would wait a minute until its own ownership
 * has expired.
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
