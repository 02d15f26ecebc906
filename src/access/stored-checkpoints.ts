import type { Checkpoint, CheckpointStore, PartitionOwnership } from '@azure/event-hubs';
import { systemClock } from '../base/clock.ts';
import { type PositionBlobs, prefixOf } from './hub-positions.ts';

/** Positions in event hubs as JSON in blobs, for `millrace dev`; in Azure the client's own store keeps them. */
export class StoredCheckpoints implements CheckpointStore {
  readonly #blobs: PositionBlobs;

  constructor(blobs: PositionBlobs) {
    this.#blobs = blobs;
  }

  listOwnership(namespace: string, hub: string, group: string): Promise<PartitionOwnership[]> {
    return this.#all<PartitionOwnership>(`${prefixOf(namespace, hub, group)}ownership/`);
  }

  async claimOwnership(wanted: PartitionOwnership[]): Promise<PartitionOwnership[]> {
    const claimed: PartitionOwnership[] = [];
    for (const one of wanted) {
      const { etag, ...ownership } = { ...one, lastModifiedTimeInMs: systemClock.now() };
      const name = `${prefixOf(one.fullyQualifiedNamespace, one.eventHubName, one.consumerGroup)}ownership/${one.partitionId}`;
      if (!(await this.#blobs.put(name, bytesOf(ownership), etag ?? null))) continue;
      const stored = await this.#blobs.read(name);
      if (stored) claimed.push({ ...ownership, etag: stored.etag });
    }
    return claimed;
  }

  async updateCheckpoint(checkpoint: Checkpoint): Promise<void> {
    const { fullyQualifiedNamespace: namespace, eventHubName: hub, consumerGroup: group, partitionId } = checkpoint;
    const name = `${prefixOf(namespace, hub, group)}checkpoint/${partitionId}`;
    let stored;
    do stored = await this.#blobs.read(name);
    while (!(await this.#blobs.put(name, bytesOf(checkpoint), stored?.etag ?? null)));
  }

  listCheckpoints(namespace: string, hub: string, group: string): Promise<Checkpoint[]> {
    return this.#all<Checkpoint>(`${prefixOf(namespace, hub, group)}checkpoint/`);
  }

  async #all<T>(prefix: string): Promise<T[]> {
    const found: T[] = [];
    for await (const name of this.#blobs.list(prefix)) {
      const stored = await this.#blobs.read(name);
      if (stored) found.push({ ...(JSON.parse(Buffer.from(stored.bytes).toString()) as T), etag: stored.etag });
    }
    return found;
  }
}

const bytesOf = (value: object): Uint8Array => Buffer.from(JSON.stringify(value));
