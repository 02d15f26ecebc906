import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { ErasableStore } from '../../access/blob-store.ts';
import { MillraceError, UsageError } from '../../base/errors.ts';
import { ENGINE_ERRORS } from '../errors.ts';

/** Stores changes that are too large for a dead letter, if there is a storage account. */
export interface LetterBodies {
  /** Returns the blob's name; undefined without a storage account or a container. */
  put(text: string): Promise<string | undefined>;
  /** Undefined if there is no such blob. @throws LetterBodyDamaged */
  read(name: string): Promise<string | undefined>;
  remove(name: string): Promise<void>;
}

/** A folder beside the archive's blobs. Their names start with a projection and its version, so they can't collide. */
export const LETTER_BODIES = 'dead-letters';
/** There is no storage account, or no container in it. */
const NONE = new Set(['setting-missing', 'storage-container-missing']);
/** A change has at most two documents of 2 MB, and an event at most 20 MB. A larger blob was not written by Millrace. */
const LARGEST = 64 * 1024 * 1024;

const pack = promisify(gzip);
const unpack = promisify(gunzip);

/** The content of a blob is wrong. Only this letter can't be redriven. */
export class LetterBodyDamaged extends MillraceError<'letter-body-damaged'> {
  constructor(name: string, why: string, cause?: unknown) {
    super('letter-body-damaged', `The change in blob ${name} can't be read: ${why}`, {
      ...ENGINE_ERRORS['letter-body-damaged'],
      cause,
    });
  }
}

/** Of a storage account, what letters need. */
type Blobs = Pick<ErasableStore, 'put' | 'read' | 'remove'>;

/** Blobs in the storage account of the settings. Each `put` creates a new blob, so `remove` never removes another's. */
export function letterBodies(services: { blobs(): Promise<{ open(): Blobs }> }): LetterBodies {
  const asked = async <T>(ask: (blobs: Blobs) => Promise<T>): Promise<T | undefined> => {
    try {
      return await ask((await services.blobs()).open());
    } catch (error) {
      if (error instanceof UsageError && NONE.has(error.code)) return undefined;
      throw error;
    }
  };
  return {
    put: async (text) => {
      if (Buffer.byteLength(text) > LARGEST) return undefined;
      const name = `${LETTER_BODIES}/${randomUUID()}.json.gz`;
      const bytes = await pack(text);
      return asked(async (blobs) => {
        await blobs.put(name, bytes, null);
        return name;
      });
    },
    read: async (name) => {
      const stored = await asked((blobs) => blobs.read(name));
      if (stored === undefined) return undefined;
      try {
        return (await unpack(stored.bytes, { maxOutputLength: LARGEST })).toString();
      } catch (error) {
        const { code } = error as { code?: unknown };
        const why =
          code === 'ERR_BUFFER_TOO_LARGE' ? 'it unpacks to more than any change' : 'it is not a gzip file of Millrace';
        throw new LetterBodyDamaged(name, why, error);
      }
    },
    remove: async (name) => {
      await asked((blobs) => blobs.remove(name));
    },
  };
}
