import type { CheckpointStore, EventHubConsumerClient, EventHubProducerClient } from '@azure/event-hubs';

/** The Event Hubs namespace of the settings. Nothing is connected before it is asked for. */
export interface HubClients {
  /** The one producer of a hub; `instead` of one that hangs, another, as what hangs it may never end. */
  producer(hub: string, instead?: EventHubProducerClient): Promise<EventHubProducerClient>;
  /** A consumer that shares a hub's partitions with the others of its group; the caller closes it. */
  consumer(hub: string, group: string, host: string): Promise<HubConsumer>;
  /**
   * Asks whether a hub may be sent to, or, with a consumer group, be read in it, so that a wrong name, key or role is one
   * clear message before anything starts.
   * @throws UsageError `event-hub-missing`, `event-hub-denied`, `event-hubs-unreachable`
   */
  check(hub: string, consumerGroup?: string): Promise<void>;
}

export interface HubConsumer {
  readonly client: EventHubConsumerClient;
  /** Where it keeps how far it is. */
  readonly store: CheckpointStore;
}
