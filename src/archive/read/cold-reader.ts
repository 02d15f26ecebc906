import { compareVersions } from '../../feed/reading/change.ts';
import type { ColdRead } from '../../kinds/archive/cold-read.ts';
import { Entries } from '../../kinds/archive/entries.ts';
import { ArchiveDamaged } from '../blobs/blob.ts';
import type { BlobStore } from '../../access/blob-store.ts';
import { KeptBlobs } from '../blobs/kept-blobs.ts';
import { unavailable } from '../blobs/unavailable.ts';

/**
 * Reads single documents of the archive for the live engine. It opens the store at the first read. A failure of the
 * storage account is a failure of infrastructure here: the page is read again, and no change is parked.
 */
export function coldReader(open: () => Promise<BlobStore>, stateContainer: string): ColdRead {
  const entries = new Entries(stateContainer);
  let store: Promise<BlobStore> | undefined;
  const blobs = new KeptBlobs(async (name) => {
    try {
      return await (await (store ??= open())).read(name);
    } catch (error) {
      store = undefined;
      throw error;
    }
  });
  return async (document, access) => {
    const [entry] = await entries.read([document], access);
    if (entry?.state !== 'archived' || !entry.blob) return undefined;
    if (compareVersions(document.version, entry.version) !== 'same') return undefined;
    const { name, line } = entry.blob;
    const found = await blobs.document(name, line).catch((error: unknown) => {
      if (error instanceof ArchiveDamaged) throw error;
      throw unavailable(error, `Blob ${name} can't be read`);
    });
    return found && { ...found.doc, _etag: entry.version.etag, _ts: found.at / 1000 };
  };
}
