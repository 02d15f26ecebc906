import type { Checkpoint, CheckpointStore, EventHubProducerClient, PartitionOwnership } from '@azure/event-hubs';
import { systemClock } from '../base/clock.ts';
import { UsageError, messageOf } from '../base/errors.ts';
import type { ErasableStore } from './blob-store.ts';
import { sharedError } from '../base/shared-errors.ts';

/** The properties of a hub, by any client of it. */
export type HubLook = Pick<EventHubProducerClient, 'getEventHubProperties' | 'getPartitionProperties'>;

/** How long an answer of the hub is believed, milliseconds. */
const BELIEVED_MS = 5_000;
/** After this time the client takes an ownership for expired. */
const OWNED_MS = 60_000;

/** Of a storage account, what positions need. Throws UsageError `storage-container-missing`. */
export type PositionBlobs = Pick<ErasableStore, 'put' | 'read' | 'list' | 'remove'>;

interface PositionContainer {
  readonly name: string;
  readonly store: PositionBlobs;
  create(): Promise<unknown>;
}

/**
 * The positions of consumers in event hubs. A hub that was deleted and created again begins again, so positions of the
 * earlier one would skip events, or would be refused without end. They are read only if they fit the hub: it was created
 * when the hub was that they are of, and none is beyond its end (ASM-H62).
 */
export class HubPositions implements CheckpointStore {
  readonly #container: PositionContainer;
  readonly #store: CheckpointStore;
  readonly #look: (hub: string) => Promise<HubLook>;
  readonly #fitted = new Map<string, number>();

  /** `store`: keeps them in the container. */
  constructor(container: PositionContainer, store: CheckpointStore, look: (hub: string) => Promise<HubLook>) {
    this.#container = container;
    this.#store = store;
    this.#look = look;
  }

  /** Creates the container, if it is missing. @throws UsageError `unreachable` */
  async prepare(): Promise<void> {
    try {
      await this.#container.create();
    } catch (cause) {
      const why = `The blob container ${this.#container.name} for the checkpoints of ingests can't be used: ${messageOf(cause)}`;
      throw sharedError('unreachable', why, {
        hint: 'Check `STORAGE`, and give the identity the role "Storage Blob Data Contributor".',
        cause,
      });
    }
  }

  listOwnership(...asked: Parameters<CheckpointStore['listOwnership']>): Promise<PartitionOwnership[]> {
    return this.#store.listOwnership(...asked);
  }

  claimOwnership(...asked: Parameters<CheckpointStore['claimOwnership']>): Promise<PartitionOwnership[]> {
    return this.#store.claimOwnership(...asked);
  }

  /** @throws UsageError `position-unusable` if the hub is another one by now: a reader that runs must not go on in it */
  async updateCheckpoint(...asked: Parameters<CheckpointStore['updateCheckpoint']>): Promise<void> {
    const [{ fullyQualifiedNamespace, eventHubName, consumerGroup }] = asked;
    await this.#assertFit(fullyQualifiedNamespace, eventHubName, consumerGroup, [], true);
    await this.#store.updateCheckpoint(...asked);
  }

  /** @throws UsageError `position-unusable` */
  async listCheckpoints(...asked: Parameters<CheckpointStore['listCheckpoints']>): Promise<Checkpoint[]> {
    const [namespace, hub, group] = asked;
    const found = await this.#store.listCheckpoints(...asked);
    await this.#assertFit(namespace, hub, group, found, true);
    return found;
  }

  /** Writes nothing. @throws UsageError `position-unusable` */
  async assertFit(namespace: string, hub: string, group: string): Promise<void> {
    const missing = (error: unknown): Checkpoint[] => {
      if (statusOf(error) !== 404) throw error;
      return [];
    };
    await this.#assertFit(
      namespace,
      hub,
      group,
      await this.#store.listCheckpoints(namespace, hub, group).catch(missing),
    );
  }

  /** Forgets the positions of a group: it begins again. Returns them. `inUse`: refuses if a consumer uses them now. */
  async forget(namespace: string, hub: string, group: string, inUse: (owner: string) => Error): Promise<Checkpoint[]> {
    const found = await this.#store.listCheckpoints(namespace, hub, group);
    // Readers of another hub are refused, so they store no positions.
    const isFit = await this.#assertFit(namespace, hub, group, found).then(
      () => true,
      () => false,
    );
    const owned = isFit ? await this.#store.listOwnership(namespace, hub, group) : [];
    const user = owned.find(
      ({ ownerId, lastModifiedTimeInMs = 0 }) => ownerId !== '' && lastModifiedTimeInMs > systemClock.now() - OWNED_MS,
    );
    if (user) throw inUse(user.ownerId);
    const prefix = prefixOf(namespace, hub, group);
    for await (const name of this.#container.store.list(prefix))
      if (!name.startsWith(`${prefix}ownership/`)) await this.#container.store.remove(name);
    this.#fitted.delete(prefix);
    return found;
  }

  /** `reading`: from now on the positions are of this hub, if there were none. */
  async #assertFit(
    namespace: string,
    hub: string,
    group: string,
    checkpoints: readonly Checkpoint[],
    reading = false,
  ): Promise<void> {
    const prefix = prefixOf(namespace, hub, group);
    if ((this.#fitted.get(prefix) ?? -Infinity) > systemClock.monotonic() - BELIEVED_MS) return;
    const client = await this.#look(hub);
    const { createdOn, partitionIds } = await client.getEventHubProperties();
    const created = await this.#created(prefix, createdOn, reading);
    const refuse = (why: string): Error =>
      sharedError(
        'position-unusable',
        `The positions of ${hub} (consumer group ${group}) are of an earlier hub: ${why}`,
        {
          hint: `If its events are to be read from the first on, run \`millrace leases rewind ${hub} --to beginning\`. Of a function app, delete the blobs below ${this.#container.name}/${prefix} instead.`,
        },
      );
    if (created !== createdOn.toISOString())
      throw refuse(`it was created at ${created}, and this one at ${createdOn.toISOString()}`);
    for (const { partitionId, sequenceNumber } of checkpoints) {
      if (!partitionIds.includes(partitionId)) throw refuse(`this one has no partition ${partitionId}`);
      const { lastEnqueuedSequenceNumber: last } = await client.getPartitionProperties(partitionId);
      if (sequenceNumber > last)
        throw refuse(`in partition ${partitionId} they are at event ${sequenceNumber}, and its last one is ${last}`);
    }
    if (reading) this.#fitted.set(prefix, systemClock.monotonic());
  }

  /** When the hub was created that the positions are of. The first reader says it. */
  async #created(prefix: string, now: Date, reading: boolean): Promise<string> {
    const { store } = this.#container;
    // The time as text: the client's own store leaves other blobs beside its own alone.
    const name = `${prefix}hub`;
    const known = async (): Promise<string | undefined> => {
      const stored = await store.read(name);
      return stored && Buffer.from(stored.bytes).toString();
    };
    const stored = await known().catch((error: unknown) => {
      if (!(error instanceof UsageError && error.code === 'storage-container-missing')) throw error;
    });
    if (stored !== undefined) return stored;
    if (reading) await store.put(name, Buffer.from(now.toISOString()), null);
    return (reading ? await known() : undefined) ?? now.toISOString();
  }
}

const statusOf = (error: unknown): number => Number((error as { statusCode?: unknown }).statusCode);

/** As the client's own store names its blobs. */
export const prefixOf = (namespace: string, hub: string, group: string): string =>
  `${namespace}/${hub}/${group}/`.toLowerCase();
