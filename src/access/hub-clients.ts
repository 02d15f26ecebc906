import type { Checkpoint, CheckpointStore, EventHubConsumerClient, EventHubProducerClient } from '@azure/event-hubs';

/** The Event Hubs namespace of the settings. Connects with the first call. */
export interface HubClients {
  /** The one producer of a hub. With `instead` (a producer that hangs, perhaps for ever), a new one replaces it. */
  producer(hub: string, instead?: EventHubProducerClient): Promise<EventHubProducerClient>;
  /** A consumer that shares a hub's partitions with the other consumers of its group. The caller closes it. */
  consumer(hub: string, group: string, host: string): Promise<HubConsumer>;
  /**
   * Checks that this process may send to the hub, or may read it in the consumer group. So a wrong name, key or role
   * gives one clear message before anything starts.
   * @throws UsageError `missing`, `denied`, `unreachable`
   */
  check(hub: string, consumerGroup?: string): Promise<void>;
  /** The positions of a consumer group, without a consumer. Sends nothing. */
  positions(hub: string, group: string): GroupPositions;
}

export interface HubConsumer {
  readonly client: EventHubConsumerClient;
  /** Stores the consumer's positions. */
  readonly store: CheckpointStore;
}

export interface GroupPositions {
  /** @throws UsageError `position-unusable` if they are of an earlier hub; `missing`, `denied`, `unreachable` */
  assertFit(): Promise<void>;
  /** Forgets them, so that the group begins again, and returns them. `inUse`: refuses while a consumer uses them. */
  forget(inUse: (owner: string) => Error): Promise<Checkpoint[]>;
}
