import { type InvocationContext, app } from '@azure/functions';
import { MillraceError } from '../../base/errors.ts';
import type { Batch } from '../../runtime/trigger-host.ts';
import type { Drain } from './drain.ts';

/** Most documents a batch. It limits the work that is repeated after a crash. */
const MAX_ITEMS = 500;

export interface FeedTrigger {
  /** The container whose feed it reads. */
  readonly container: string;
  /** The prefix of its lease ids. */
  readonly prefix: string;
}

/** Only letters, digits, `-` and `_`, as the Functions host requires. */
export const functionName = (container: string): string => `feed-${container.replaceAll(/[^A-Za-z0-9_-]/g, '-')}`;

/** The binding of a trigger. */
export const triggerOptions = ({ container, prefix }: FeedTrigger) => ({
  connection: 'COSMOS',
  databaseName: '%COSMOS_DATABASE%',
  containerName: container,
  leaseConnection: 'LEASES',
  leaseDatabaseName: '%LEASES_DATABASE%',
  leaseContainerName: '%LEASES_CONTAINER%',
  // Fixed: another prefix means new leases, which would read every feed from the beginning.
  leaseContainerPrefix: prefix,
  // The app's identity can't create containers; infra/ or `millrace model apply` does.
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
    // Retries without limit: after the last retry the host would move its lease past the batch.
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
          // The host logs only the message of an error, without the hint.
          if (error instanceof MillraceError && error.hint !== undefined)
            context.error(`${error.message}. ${error.hint}`);
          throw error;
        }
      }),
  });
}
