import type { EventHubConsumerClient, Subscription } from '@azure/event-hubs';

/**
 * Resolves where a hub has the consumer group of this client, which is closed. Only a receiver can tell: hub properties
 * don't name groups. It waits behind the newest event of one partition, without an owner level, so it disturbs nobody,
 * and ends once the hub has accepted it or refused it. Five readers at once without a level are the most; a sixth is
 * refused for that, which says that the group is there.
 * @throws what the client says of it
 */
export async function checkGroup(client: EventHubConsumerClient, partition: string): Promise<void> {
  let subscription: Subscription | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      subscription = client.subscribe(
        partition,
        {
          // Called with nothing once the wait is over, with events if there are any: either way it receives.
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
