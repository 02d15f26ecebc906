import { LRUCache } from 'lru-cache';
import { compareVersions } from '../feed/reading/change.ts';
import type { ColdRead } from '../projections/archive/cold-read.ts';
import { Entries } from '../projections/archive/entries.ts';
import { ArchiveDamaged, readBlob } from './blob.ts';
import type { BlobStore } from './blob-store.ts';
import type { ArchivedDocument } from './types.ts';
import { unavailable } from './unavailable.ts';

/** Unpacked blobs in the cache: documents that are refreshed together are mostly in one blob. */
const KEPT = 8;

/**
 * Reads single documents of the archive for the live engine. It opens the store at the first read. A failure of the
 * storage account is a failure of infrastructure here: the page is read again, and no change is parked.
 */
export function coldReader(open: () => Promise<BlobStore>, stateContainer: string): ColdRead {
  const entries = new Entries(stateContainer);
  const blobs = new LRUCache<string, Promise<readonly ArchivedDocument[]>>({ max: KEPT });
  let store: Promise<BlobStore> | undefined;
  const unpacked = async (name: string): Promise<readonly ArchivedDocument[]> => {
    try {
      return await readBlob(await (store ??= open()), name);
    } catch (error) {
      blobs.delete(name);
      store = undefined;
      if (error instanceof ArchiveDamaged) throw error;
      throw unavailable(error, `Blob ${name} can't be read`);
    }
  };
  return async (document, access) => {
    const [entry] = await entries.read([document], access);
    if (entry?.state !== 'archived' || !entry.blob) return undefined;
    if (compareVersions(document.version, entry.version) !== 'same') return undefined;
    const { name, line } = entry.blob;
    // The cache holds the promise, so that all callers that wait for a blob get the same error.
    const kept = blobs.get(name) ?? unpacked(name);
    blobs.set(name, kept);
    const found = (await kept)[line];
    return found && { ...found.doc, _etag: found.version.etag, _ts: found.at / 1000 };
  };
}
