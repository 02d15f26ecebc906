import { LRUCache } from 'lru-cache';
import { MillraceError, messageOf } from '../base/errors.ts';
import { compareVersions } from '../feed/reading/change.ts';
import type { ColdRead } from '../projections/archive/cold-read.ts';
import { Entries } from '../projections/archive/entries.ts';
import { ArchiveDamaged, readBlob } from './blob.ts';
import type { BlobStore } from './blob-store.ts';
import type { ArchivedDocument } from './types.ts';

/** Unpacked blobs kept: what is refreshed together mostly lies together. */
const KEPT = 8;

/**
 * Single documents of the archive, for the live engine. The store is opened when the first one is asked for. What the
 * storage account answers is infrastructure here: the page is read again, nothing is parked for it.
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
      const mend = error instanceof MillraceError ? error.mend : undefined;
      throw new MillraceError('archive-unavailable', `Blob ${name} can't be read: ${messageOf(error)}`, {
        cause: error,
        retryable: true,
        ...(mend === undefined ? {} : { mend }),
      });
    }
  };
  return async (document, session) => {
    const [entry] = await entries.read([document], session);
    if (entry?.state !== 'archived' || !entry.blob) return undefined;
    if (compareVersions(document.version, entry.version) !== 'same') return undefined;
    const { name, line } = entry.blob;
    // Kept with its refusal explained: whoever waits for the same blob is to hear the same.
    const kept = blobs.get(name) ?? unpacked(name);
    blobs.set(name, kept);
    const found = (await kept)[line];
    return found && { ...found.doc, _etag: found.version.etag, _ts: found.at / 1000 };
  };
}
