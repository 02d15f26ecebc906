import type { InvocationContext } from '@azure/functions';
import { app } from '@azure/functions';
import { messageOf } from '../base/errors.ts';
import { feedReaders, sourcesOf } from '../definition/pipeline.ts';
import { processorName } from '../operations/leases/processor-name.ts';
import type { Workspace } from '../operations/workspace.ts';
import { type Consume, triggerConsumer } from './trigger.ts';

/** Most documents a batch; bounds what is done twice after a crash. */
const MAX_ITEMS = 500;

/**
 * Registers one Cosmos DB trigger for each container whose feed the pipeline reads. Settings and the model are read at
 * the first batch: at import nothing may throw, since the host would then index no function and not say why.
 */
export async function registerFunctions(workspace: Workspace): Promise<void> {
  const ending = new AbortController();
  let consume: Promise<Consume> | undefined;
  const consumer = (): Promise<Consume> => {
    consume ??= openConsumer(workspace);
    // Not remembered when it failed: a mended setting or a recovered account is found by the next batch.
    consume.catch(() => (consume = undefined));
    return consume;
  };
  for (const { container, prefix } of await sourcesRead(workspace)) {
    app.cosmosDB(functionName(container), {
      connection: 'COSMOS',
      databaseName: '%COSMOS_DATABASE%',
      containerName: container,
      leaseConnection: 'LEASES',
      leaseDatabaseName: '%LEASES_DATABASE%',
      leaseContainerName: '%LEASES_CONTAINER%',
      // Pinned: another prefix means new leases, which would read everything from the beginning.
      leaseContainerPrefix: prefix,
      // An identity may not create containers; `millrace model apply` does.
      createLeaseContainerIfNotExists: false,
      startFromBeginning: true,
      maxItemsPerInvocation: MAX_ITEMS,
      // Never gives up: the host would move its lease past the batch.
      retry: {
        strategy: 'exponentialBackoff',
        maxRetryCount: -1,
        minimumInterval: { seconds: 1 },
        maximumInterval: { minutes: 1 },
      },
      handler: async (documents: Record<string, unknown>[], context: InvocationContext): Promise<void> => {
        const batch = {
          container,
          documents,
          again: (context.retryContext?.retryCount ?? 0) > 0,
          signal: ending.signal,
        };
        const { applied, parked } = await (await consumer())(batch);
        context.debug(`${container}: ${documents.length} documents, ${applied} changes applied, ${parked} parked`);
      },
    });
  }
  app.hook.appTerminate(async () => {
    ending.abort(new DOMException('The function app is shutting down', 'AbortError'));
    await workspace.close();
  });
}

/** Letters, digits, `-` and `_`, as the host wants it. */
export const functionName = (container: string): string => `feed-${container.replaceAll(/[^A-Za-z0-9_-]/g, '-')}`;

async function openConsumer(workspace: Workspace): Promise<Consume> {
  return triggerConsumer({
    settings: workspace.settings(),
    services: await workspace.services(),
    loaded: await workspace.pipeline(),
  });
}

/** The containers of the pipeline's sources; none, and the reason on standard error, where it can't be loaded. */
async function sourcesRead(workspace: Workspace): Promise<{ container: string; prefix: string }[]> {
  try {
    const { pipeline } = await workspace.pipeline();
    const names = new Set(
      feedReaders(pipeline)
        .flatMap(sourcesOf)
        .map(({ container }) => container),
    );
    return [...names].map((container) => ({ container, prefix: processorName(pipeline) }));
  } catch (error) {
    console.error(`millrace: no trigger was registered: ${messageOf(error)}`);
    return [];
  }
}
