import { type Identity, compareVersions } from '../feed/reading/change.ts';
import type { StoredEntry } from '../projections/archive/entries.ts';
import { ArchiveDamaged } from './blob.ts';
import type { KeptBlobs } from './kept-blobs.ts';
import type { ArchivedDocument } from './types.ts';

/**
 * The archived document of an entry; undefined if the entry says that the document isn't archived.
 * @throws ArchiveDamaged the line that the entry names is not the document
 */
export async function findArchived(
  { container, key, id }: Identity,
  entry: StoredEntry | undefined,
  blobs: Pick<KeptBlobs, 'document'>,
): Promise<ArchivedDocument | undefined> {
  if (entry?.state !== 'archived' || !entry.blob) return undefined;
  const { name, line } = entry.blob;
  const document = await blobs.document(name, line);
  if (document?.id === id) return document;
  const what = `Line ${line} of ${name} is not ${container}/${id}`;
  throw new ArchiveDamaged({ code: 'line-missing', what, blob: name, container, key, id });
}

/**
 * Whether an entry says that this version of its document is archived. It may name the line in another blob: a compaction
 * writes lines into a new one, and a reader may have the old one still.
 */
export const isEntryOf = (entry: StoredEntry | undefined, { version }: ArchivedDocument): boolean =>
  entry?.state === 'archived' && compareVersions(entry.version, version) === 'same';
