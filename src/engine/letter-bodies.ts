import { randomUUID } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { ContainerClient } from '@azure/storage-blob';
import { UsageError } from '../base/errors.ts';

/** Where changes lie that are too large for a letter, if there is a storage account. */
export interface LetterBodies {
  /** The blob's name; undefined where there is nowhere to put it. */
  put(text: string): Promise<string | undefined>;
  /** Undefined where somebody took it away. */
  read(name: string): Promise<string | undefined>;
  remove(name: string): Promise<void>;
}

/** Beside the archive's blobs, none of which begins like this: those are named by projections, with their versions. */
const FOLDER = 'dead-letters';
const MOST_TRIES = 4;

/** Blobs of the account of the settings: of every writer its own, so whoever removes one removes no other's. */
export function letterBodies(services: { blobs(): Promise<ContainerClient> }): LetterBodies {
  const asked = async <T>(ask: (container: ContainerClient) => Promise<T>): Promise<T | undefined> => {
    for (let tries = 1; ; tries++) {
      try {
        return await ask(await services.blobs());
      } catch (error) {
        if (error instanceof UsageError && error.code === 'setting-missing') return undefined;
        const { statusCode } = error as { statusCode?: number };
        if (statusCode === 404) return undefined;
        // Sent again, it is the same blob with the same content.
        if (tries >= MOST_TRIES || (statusCode !== undefined && statusCode < 500 && statusCode !== 429)) throw error;
      }
    }
  };
  return {
    put: (text) => {
      const name = `${FOLDER}/${randomUUID()}.json.gz`;
      const bytes = gzipSync(text);
      return asked(async (container) => {
        await container.getBlockBlobClient(name).upload(bytes, bytes.length);
        return name;
      });
    },
    read: (name) =>
      asked(async (container) => gunzipSync(await container.getBlobClient(name).downloadToBuffer()).toString()),
    remove: async (name) => {
      await asked((container) => container.getBlobClient(name).deleteIfExists());
    },
  };
}
