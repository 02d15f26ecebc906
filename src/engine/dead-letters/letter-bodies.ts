import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { ContainerClient } from '@azure/storage-blob';
import { MillraceError, UsageError } from '../../base/errors.ts';

/** Where changes lie that are too large for a letter, if there is a storage account. */
export interface LetterBodies {
  /** The blob's name; undefined where there is nowhere to put it. */
  put(text: string): Promise<string | undefined>;
  /** Undefined where somebody took it away. @throws LetterBodyDamaged */
  read(name: string): Promise<string | undefined>;
  remove(name: string): Promise<void>;
}

/** Beside the archive's blobs, none of which begins like this: those are named by projections, with their versions. */
const FOLDER = 'dead-letters';
const MOST_TRIES = 4;
/** A document has 2 MB, and a change at most two of them; an event has 20 MB at most. What unpacks to more isn't ours. */
const LARGEST = 64 * 1024 * 1024;

const pack = promisify(gzip);
const unpack = promisify(gunzip);

/** Thrown where a blob isn't what was put there: that letter alone can't be tried again. */
export class LetterBodyDamaged extends MillraceError<'letter-body-damaged'> {
  constructor(name: string, why: string, cause?: unknown) {
    super('letter-body-damaged', `The change in blob ${name} can't be read: ${why}`, {
      cause,
      mend: 'Restore the blob from a backup or from soft delete, or discard the letter.',
    });
  }
}

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
    put: async (text) => {
      if (Buffer.byteLength(text) > LARGEST) return undefined;
      const name = `${FOLDER}/${randomUUID()}.json.gz`;
      const bytes = await pack(text);
      return asked(async (container) => {
        await container.getBlockBlobClient(name).upload(bytes, bytes.length);
        return name;
      });
    },
    read: async (name) => {
      const bytes = await asked(async (container) => {
        const blob = container.getBlobClient(name);
        const { contentLength = 0 } = await blob.getProperties();
        return contentLength > LARGEST ? 'too large' : blob.downloadToBuffer(0, contentLength);
      });
      if (bytes === undefined) return undefined;
      if (bytes === 'too large') throw new LetterBodyDamaged(name, 'it is larger than any change');
      try {
        return (await unpack(bytes, { maxOutputLength: LARGEST })).toString();
      } catch (error) {
        const { code } = error as { code?: unknown };
        const why =
          code === 'ERR_BUFFER_TOO_LARGE' ? 'it unpacks to more than any change' : 'it is no gzip file of ours';
        throw new LetterBodyDamaged(name, why, error);
      }
    },
    remove: async (name) => {
      await asked((container) => container.getBlobClient(name).deleteIfExists());
    },
  };
}
