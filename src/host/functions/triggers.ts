import { type CosmosDBChangeFeedItem, CosmosDBChangeFeedMode, type InvocationContext, app } from '@azure/functions';
import { MillraceError } from '../../base/errors.ts';
import type { FeedMode } from '../../feed/reading/source.ts';
import type { Batch } from '../../runtime/hosts/trigger-host.ts';
import type { Drain } from './drain.ts';

/** Most documents a batch. It limits the work that is repeated after a crash. */
const MAX_ITEMS = 500;

export interface FeedTrigger {
  /** The container whose feed it reads. */
  readonly container: string;
  /** The setting of its account. */
  readonly connection: string;
  /** The setting of its database. */
  readonly database: string;
  /** The prefix of its lease ids. */
  readonly prefix: string;
  readonly mode: FeedMode;
}

/** Only letters, digits, `-` and `_`, as the Functions host requires. */
export const functionName = (container: string): string => `feed-${container.replaceAll(/[^A-Za-z0-9_-]/g, '-')}`;

/** The binding of a trigger. */
export const triggerOptions = ({ container, connection, database, prefix }: FeedTrigger) => ({
  connection,
  databaseName: `%${database}%`,
  containerName: container,
  leaseConnection: 'LEASES',
  leaseDatabaseName: '%LEASES_DATABASE%',
  leaseContainerName: '%LEASES_CONTAINER%',
  // Fixed: another prefix means new leases, which would read every feed from the beginning.
  leaseContainerPrefix: prefix,
  // The app's identity can't create containers; infra/ or `millrace model apply` does.
  createLeaseContainerIfNotExists: false,
  maxItemsPerInvocation: MAX_ITEMS,
});

/** Retries without limit: after the last retry the host would move its lease past the batch. */
const RETRY = {
  strategy: 'exponentialBackoff' as const,
  maxRetryCount: -1,
  minimumInterval: { seconds: 1 },
  maximumInterval: { minutes: 1 },
};

/** Registers the Cosmos DB trigger of one container. */
export function registerTrigger(
  trigger: FeedTrigger,
  drain: Drain,
  consume: (batch: Batch) => Promise<{ applied: number; parked: number }>,
): void {
  const { container, mode } = trigger;
  const handle = async (documents: Batch['documents'], context: InvocationContext): Promise<void> =>
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
    });
  const options = { ...triggerOptions(trigger), retry: RETRY };
  if (mode === 'all-versions')
    app.cosmosDB(functionName(container), {
      ...options,
      // This feed begins when it is first read: the extension refuses a start.
      changeFeedMode: CosmosDBChangeFeedMode.AllVersionsAndDeletes,
      handler: (entries: CosmosDBChangeFeedItem[], context: InvocationContext) => handle(entries, context),
    });
  else
    app.cosmosDB(functionName(container), {
      ...options,
      startFromBeginning: true,
      handler: (documents: Record<string, unknown>[], context: InvocationContext) => handle(documents, context),
    });
}
