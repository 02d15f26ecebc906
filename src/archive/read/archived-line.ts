import { type Identity, compareVersions } from '../../feed/reading/change.ts';
import type { ArchiveEntry } from '../../kinds/archive/entry.ts';
import type { StoredEntry } from '../../kinds/archive/entries.ts';
import { ArchiveDamaged } from '../blobs/blob.ts';
import type { KeptBlobs } from '../blobs/kept-blobs.ts';
import type { ArchivedDocument } from '../types.ts';

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
  if (document?.id === id) return asEntered(entry, document);
  const what = `Line ${line} of ${name} is not ${container}/${id}`;
  throw new ArchiveDamaged({ code: 'line-missing', what, blob: name, container, key, id });
}

/**
 * Whether an entry says that this version of its document is archived. It may name the line in another blob: a compaction
 * writes lines into a new one, and a reader may have the old one still.
 */
export const isEntryOf = (entry: StoredEntry | undefined, document: ArchivedDocument): boolean =>
  entry?.state === 'archived' && isLineOf(entry, document);

/** Whether a document is the version that an entry names. After a move the entry has another version than the line. */
export const isLineOf = (
  { blob, version }: Pick<ArchiveEntry, 'blob' | 'version'>,
  document: Pick<ArchivedDocument, 'version'>,
): boolean =>
  blob?.etag === undefined
    ? compareVersions(document.version, version) === 'same'
    : blob.etag === document.version.etag;

/** The document of a line that an entry names. @throws ArchiveDamaged it is another one, or another version */
export function assertLineOf(
  entry: Pick<ArchiveEntry, 'blob' | 'version' | 'container' | 'key' | 'id'>,
  document: ArchivedDocument | undefined,
): ArchivedDocument {
  const { blob, container, key, id } = entry;
  if (document?.id === id && isLineOf(entry, document)) return document;
  const what = `Line ${blob?.line} of ${blob?.name} is not ${container}/${id}, but the document's entry names that line`;
  throw new ArchiveDamaged({ code: 'line-missing', what, blob: blob?.name ?? '', container, key, id });
}

/** The document of a line in the version in which the hosts of its place had it last. */
export const asEntered = (
  { version }: Pick<ArchiveEntry, 'version'>,
  document: ArchivedDocument,
): ArchivedDocument => ({ ...document, version });
