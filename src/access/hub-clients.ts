import type { CheckpointStore, EventHubConsumerClient, EventHubProducerClient } from '@azure/event-hubs';

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
}

export interface HubConsumer {
  readonly client: EventHubConsumerClient;
  /** Stores the consumer's positions. */
  readonly store: CheckpointStore;
}
