import type {
  CheckpointStore,
  EventHubClientOptions,
  EventHubConsumerClient,
  EventHubProducerClient,
} from '@azure/event-hubs';
import { UsageError, messageOf } from '../base/errors.ts';
import { type Settings, requireEventHubs } from '../base/settings.ts';
import { hubFailure } from '../sinks/event-hub.ts';
import { checkGroup } from '../sinks/consumer-group.ts';
import type { HubClients } from '../sinks/hub-clients.ts';
import { blobContainer } from './blob-container.ts';

export interface OpenHubClients extends HubClients {
  close(): Promise<void>;
}

/** What of the settings an event hub needs. */
type HubSettings = Pick<Settings, 'eventHubs' | 'storage'>;

/** Publishing tries again by itself: it knows what its fence allows. */
const ONCE: EventHubClientOptions = { retryOptions: { maxRetries: 0, timeoutInMs: 60_000 } };

/**
 * The namespace of the settings; nothing is read before the first call.
 * Every method throws UsageError `setting-missing`, `setting-invalid`.
 */
export function eventHubs(settings: HubSettings): OpenHubClients {
  const producers = new Map<string, Promise<EventHubProducerClient>>();
  let store: Promise<CheckpointStore> | undefined;

  const producer = async (hub: string, instead?: EventHubProducerClient): Promise<EventHubProducerClient> => {
    const known = producers.get(hub);
    if (known && (instead === undefined || (await known) !== instead)) return known;
    // Another caller may have met the same one hanging.
    if (producers.get(hub) !== known) return producer(hub, instead);
    // Not waited for: it hangs.
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
        // Whoever may only listen is told that too: a link to send by tells who may send.
        if (consumerGroup === undefined) await client.createBatch();
        else if (first !== undefined) await checkGroup(await openConsumer(settings, hub, consumerGroup), first);
      } catch (error) {
        throw explained(error, consumerGroup === undefined ? hub : `${hub} (consumer group ${consumerGroup})`);
      }
    },
    consumer: async (hub, group, host) => {
      store ??= checkpointStore(settings);
      store.catch(() => (store = undefined));
      const { EventHubConsumerClient } = await import('@azure/event-hubs');
      const options = {
        identifier: host,
        loadBalancingOptions: { strategy: 'greedy' as const },
        retryOptions: { maxRetries: 3 },
      };
      const checkpoints = await store;
      const { account } = requireEventHubs(settings);
      const client =
        account.kind === 'key'
          ? new EventHubConsumerClient(group, account.connectionString, hub, checkpoints, options)
          : new EventHubConsumerClient(group, account.namespace, hub, await credential(), checkpoints, options);
      return { client, store: checkpoints };
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
  // Imported here and not above: only a pipeline with an event hub needs the client.
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

async function checkpointStore(settings: HubSettings): Promise<CheckpointStore> {
  const { checkpoints } = requireEventHubs(settings);
  const container = await blobContainer(settings, { container: checkpoints, attempts: 4 });
  try {
    await container.createIfNotExists();
  } catch (cause) {
    const mend = 'Check STORAGE, and give the identity the role "Storage Blob Data Contributor".';
    const why = `The blob container ${checkpoints}, for the positions of ingests, can't be had: ${messageOf(cause)}`;
    throw new UsageError('checkpoints-unavailable', why, { cause, mend });
  }
  const { BlobCheckpointStore } = await import('@azure/eventhubs-checkpointstore-blob');
  return new BlobCheckpointStore(container);
}

function explained(error: unknown, hub: string): UsageError {
  const known = hubFailure(error, hub);
  if (known)
    return new UsageError(known.code, known.message, {
      cause: error,
      ...(known.mend === undefined ? {} : { mend: known.mend }),
    });
  const mend = 'Check EVENTHUBS or EVENTHUBS__fullyQualifiedNamespace, and that port 5671 is open to the namespace.';
  const why = `The Event Hubs namespace can't be reached: ${messageOf(error)}`;
  return new UsageError('event-hubs-unreachable', why, { cause: error, mend });
}
