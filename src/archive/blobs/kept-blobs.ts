import { LRUCache } from 'lru-cache';
import { blobBytesOf, documentOf, linesIn } from './blob.ts';
import type { BlobStore } from '../../access/blob-store.ts';
import type { ArchivedDocument } from '../types.ts';

/** Documents that are asked for together are mostly in one blob, and a blob unpacks to some 32 MB. */
const KEPT = 64 * 1024 * 1024;

/**
 * Blobs that were read lately, unpacked and checked: a blob never changes. Callers that ask for one at the same time share
 * one request and its error, which is not kept.
 */
export class KeptBlobs {
  readonly #lines: LRUCache<string, readonly string[]>;

  /** Keeps up to so many characters. */
  constructor(read: BlobStore['read'], kept = KEPT) {
    this.#lines = new LRUCache({
      maxSize: kept,
      sizeCalculation: (lines) => lines.reduce((sum, { length }) => sum + length, 1),
      fetchMethod: async (name) => linesIn(name, await blobBytesOf({ read }, name)),
    });
  }

  /** The document in a line, from 0; undefined if the blob has fewer. @throws ArchiveDamaged, FormatUnreadable */
  async document(name: string, line: number): Promise<ArchivedDocument | undefined> {
    const text = (await this.#lines.forceFetch(name))[line];
    return text === undefined ? undefined : documentOf(name, text);
  }
}
