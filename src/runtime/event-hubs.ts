import type { EventHubClientOptions, EventHubConsumerClient, EventHubProducerClient } from '@azure/event-hubs';
import { sharedError } from '../base/shared-errors.ts';
import { MillraceError, UsageError, messageOf } from '../base/errors.ts';
import { once } from '../base/once.ts';
import { type Settings, requireEventHubs } from '../base/settings.ts';
import { hubFailure } from '../access/event-hub.ts';
import { checkGroup } from '../access/consumer-group.ts';
import type { HubClients } from '../access/hub-clients.ts';
import { type HubLook, HubPositions } from '../access/hub-positions.ts';
import { StoredCheckpoints } from '../access/stored-checkpoints.ts';
import { blobContainer, containerClient } from './blob-container.ts';

export interface OpenHubClients extends HubClients {
  close(): Promise<void>;
}

/** The settings that an event hub needs. */
type HubSettings = Pick<Settings, 'eventHubs' | 'storage'>;

/**
 * No retries in the client: publishing has its own, which respect the fence. They end each attempt before the client's
 * time limit, which may end the process (ASM-H60).
 */
const ONCE: EventHubClientOptions = { retryOptions: { maxRetries: 0, timeoutInMs: 120_000 } };

/**
 * The namespace of the settings. Reads no setting before the first call.
 * Every method throws UsageError `setting-missing`, `setting-invalid`.
 */
export function eventHubs(settings: HubSettings): OpenHubClients {
  const producers = new Map<string, Promise<EventHubProducerClient>>();
  const store = once(() => positionsOf(settings, producer));

  const producer = async (hub: string, instead?: EventHubProducerClient): Promise<EventHubProducerClient> => {
    const known = producers.get(hub);
    if (known && (instead === undefined || (await known) !== instead)) return known;
    // Another caller may have replaced the same producer in the meantime.
    if (producers.get(hub) !== known) return producer(hub, instead);
    // Without `await`, because it hangs.
    instead?.close().catch(() => undefined);
    const opening = openProducer(settings, hub);
    producers.set(hub, opening);
    opening.catch(() => producers.delete(hub));
    return opening;
  };
  return {
    producer,
    check: async (hub, consumerGroup) => {
      const client = await producer(hub);
      try {
        const [first] = await client.getPartitionIds();
        // Partition ids need only the right to listen. A batch opens a link to send, which needs the right to send.
        if (consumerGroup === undefined) await client.createBatch();
        else if (first !== undefined) await checkGroup(await openConsumer(settings, hub, consumerGroup), first);
      } catch (error) {
        throw explained(error, consumerGroup === undefined ? hub : `${hub} (consumer group ${consumerGroup})`);
      }
    },
    consumer: async (hub, group, host) => {
      const { EventHubConsumerClient } = await import('@azure/event-hubs');
      const options = {
        identifier: host,
        loadBalancingOptions: { strategy: 'greedy' as const },
        retryOptions: { maxRetries: 3 },
      };
      const checkpoints = await store();
      await checkpoints.prepare();
      const { account } = requireEventHubs(settings);
      const client =
        account.kind === 'key'
          ? new EventHubConsumerClient(group, account.connectionString, hub, checkpoints, options)
          : new EventHubConsumerClient(group, account.namespace, hub, await credential(), checkpoints, options);
      return { client, store: checkpoints };
    },
    positions: (hub, group) => {
      const use = async <T>(run: (of: HubPositions, namespace: string) => Promise<T>): Promise<T> => {
        try {
          return await run(await store(), (await producer(hub)).fullyQualifiedNamespace);
        } catch (error) {
          throw error instanceof MillraceError ? error : explained(error, hub);
        }
      };
      return {
        assertFit: () => use((of, namespace) => of.assertFit(namespace, hub, group)),
        forget: (inUse) => use((of, namespace) => of.forget(namespace, hub, group, inUse)),
      };
    },
    close: async () => {
      for (const opened of producers.values()) {
        const client = await opened.catch(() => undefined);
        await client?.close().catch(() => undefined);
      }
      producers.clear();
    },
  };
}

async function openProducer(settings: HubSettings, hub: string): Promise<EventHubProducerClient> {
  const { account } = requireEventHubs(settings);
  // A lazy import: only a pipeline with an event hub needs the client.
  const { EventHubProducerClient: Producer } = await import('@azure/event-hubs');
  return account.kind === 'key'
    ? new Producer(account.connectionString, hub, ONCE)
    : new Producer(account.namespace, hub, await credential(), ONCE);
}

async function openConsumer(settings: HubSettings, hub: string, group: string): Promise<EventHubConsumerClient> {
  const { account } = requireEventHubs(settings);
  const { EventHubConsumerClient: Consumer } = await import('@azure/event-hubs');
  return account.kind === 'key'
    ? new Consumer(group, account.connectionString, hub, ONCE)
    : new Consumer(group, account.namespace, hub, await credential(), ONCE);
}

async function credential() {
  const { DefaultAzureCredential } = await import('@azure/identity');
  return new DefaultAzureCredential();
}

async function positionsOf(settings: HubSettings, look: (hub: string) => Promise<HubLook>): Promise<HubPositions> {
  const { checkpoints } = requireEventHubs(settings);
  const container = await blobContainer(settings, checkpoints);
  const blobs = { name: container.name, store: container.open(), create: () => container.create() };
  if (settings.storage?.account.kind === 'folder')
    return new HubPositions(blobs, new StoredCheckpoints(blobs.store), look);
  const { BlobCheckpointStore } = await import('@azure/eventhubs-checkpointstore-blob');
  return new HubPositions(blobs, new BlobCheckpointStore(await containerClient(settings, checkpoints, 4)), look);
}

function explained(error: unknown, hub: string): UsageError {
  const known = hubFailure(error, hub);
  if (known) return UsageError.from(known, { cause: error });
  const why = `The Event Hubs namespace can't be reached: ${messageOf(error)}`;
  return sharedError('unreachable', why, {
    hint: 'Check `EVENTHUBS` or `EVENTHUBS__fullyQualifiedNamespace`, and that port 5671 is open to the namespace.',
    cause: error,
  });
}
