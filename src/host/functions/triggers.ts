import { type InvocationContext, app } from '@azure/functions';
import { MillraceError } from '../../base/errors.ts';
import type { Batch } from '../../runtime/trigger-host.ts';
import type { Drain } from './drain.ts';

/** Most documents a batch; bounds what is done twice after a crash. */
const MAX_ITEMS = 500;

export interface FeedTrigger {
  /** The container whose feed it reads. */
  readonly container: string;
  /** What the ids of its leases begin with. */
  readonly prefix: string;
}

/** Letters, digits, `-` and `_`, as the host wants it. */
export const functionName = (container: string): string => `feed-${container.replaceAll(/[^A-Za-z0-9_-]/g, '-')}`;

/** What the host is told of a trigger. */
export const triggerOptions = ({ container, prefix }: FeedTrigger) => ({
  connection: 'COSMOS',
  databaseName: '%COSMOS_DATABASE%',
  containerName: container,
  leaseConnection: 'LEASES',
  leaseDatabaseName: '%LEASES_DATABASE%',
  leaseContainerName: '%LEASES_CONTAINER%',
  // Pinned: another prefix means new leases, which would read everything from the beginning.
  leaseContainerPrefix: prefix,
  // An identity may not create containers; infra/ does, or `millrace model apply`.
  createLeaseContainerIfNotExists: false,
  startFromBeginning: true,
  maxItemsPerInvocation: MAX_ITEMS,
});

/** Registers the Cosmos DB trigger of one container. */
export function registerTrigger(
  trigger: FeedTrigger,
  drain: Drain,
  consume: (batch: Batch) => Promise<{ applied: number; parked: number }>,
): void {
  const { container } = trigger;
  app.cosmosDB(functionName(container), {
    ...triggerOptions(trigger),
    // Never gives up: the host would move its lease past the batch.
    retry: {
      strategy: 'exponentialBackoff',
      maxRetryCount: -1,
      minimumInterval: { seconds: 1 },
      maximumInterval: { minutes: 1 },
    },
    handler: async (documents: Record<string, unknown>[], context: InvocationContext): Promise<void> =>
      drain.run(async (signal) => {
        const again = (context.retryContext?.retryCount ?? 0) > 0;
        try {
          const { applied, parked } = await consume({ container, documents, again, signal });
          context.debug(`${container}: ${documents.length} documents, ${applied} changes applied, ${parked} parked`);
        } catch (error) {
          // The host shows a message alone, and would show it without the mend.
          if (error instanceof MillraceError && error.mend !== undefined)
            context.error(`${error.message}. ${error.mend}`);
          throw error;
        }
      }),
  });
}
