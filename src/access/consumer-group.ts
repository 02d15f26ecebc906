import type { EventHubConsumerClient, Subscription } from '@azure/event-hubs';

/**
 * Resolves if the hub has the consumer group of this client; closes the client. The properties of a hub don't name its
 * groups, so only a receiver can find out. It waits behind the newest event of one partition, without an owner level, so
 * it disturbs no other reader. It ends once the hub has accepted or refused it. A group allows five readers without a
 * level; the refusal of a sixth shows that the group exists.
 * @throws the client's error
 */
export async function checkGroup(client: EventHubConsumerClient, partition: string): Promise<void> {
  let subscription: Subscription | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      subscription = client.subscribe(
        partition,
        {
          // Called with events, or with none after the wait. Both show that the hub accepted the receiver.
          processEvents: async () => resolve(),
          processError: async (error: Error & { readonly code?: string }) =>
            error.code === 'QuotaExceededError' ? resolve() : reject(error),
        },
        { startPosition: { enqueuedOn: new Date() }, maxBatchSize: 1, maxWaitTimeInSeconds: 1 },
      );
    });
  } finally {
    await subscription?.close();
    await client.close();
  }
}
