// The archived documents of a selection. Entries decide: a line that no entry names is no longer valid.
import { Entries, type StoredEntry } from '../../kinds/archive/entries.ts';
import type { DocumentAccess } from '../../access/document-access.ts';
import { FormatUnreadable } from '../../base/format.ts';
import { ArchiveDamaged, readBlob } from '../blobs/blob.ts';
import type { BlobStore } from '../../access/blob-store.ts';
import { asEntered, assertLineOf, isEntryOf } from '../read/archived-line.ts';
import { Identities } from '../read/identities.ts';
import { isSelected, manifestBeside, manifestName, placeOf, prefixOf } from '../blobs/layout.ts';
import { blobsOf } from '../blobs/stored-blobs.ts';
import { type ListedManifest, manifests, readManifest } from '../blobs/manifests.ts';
import type { Archive, ArchiveFault, ArchivedDocument, Selection } from '../types.ts';

type Months = Exclude<Selection, { documents: unknown }>;
type Named = Extract<Selection, { documents: unknown }>['documents'];

/** The manifests of a selection of months, by their places. */
export const selected = (
  { store, spec }: Pick<Archive, 'store' | 'spec'>,
  selection: Months,
): AsyncIterable<ListedManifest> => manifests(store, prefixOf(spec), (place) => isSelected(place, selection));

/**
 * Gives the archived documents of a selection to `take`, one blob's at a time. Entries that it reads may be old. Returns
 * how many of the named documents aren't archived.
 * @throws ArchiveDamaged; with `skipDamaged` it adds the damage to `faults` and continues with the others
 */
export async function eachArchived(
  archive: Archive,
  selection: Selection,
  options: {
    readonly access: DocumentAccess;
    readonly signal: AbortSignal;
    readonly skipDamaged?: boolean;
    readonly faults: ArchiveFault[];
  },
  take: (documents: readonly ArchivedDocument[]) => Promise<void>,
): Promise<number> {
  const { access, signal, skipDamaged, faults } = options;
  const entries = new Entries(archive.stateContainer);
  const unlessDamaged = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ArchiveDamaged) || skipDamaged !== true) throw error;
      faults.push(error.fault);
    }
  };
  if ('documents' in selection) {
    const known = await archivedEntries(archive, selection.documents, access);
    for (const [name, of] of byBlob(known)) {
      signal.throwIfAborted();
      await unlessDamaged(async () => {
        const lines = await readBlob(archive.store, name);
        for (const entry of of) await unlessDamaged(() => take([lineIn(lines, entry)]));
      });
    }
    return selection.documents.length - known.length;
  }
  const met = new Set<string>();
  const unreadable = new Set<string>();
  for await (const listed of selected(archive, selection)) {
    if ('fault' in listed) {
      unreadable.add(listed.fault.blob ?? '');
      await unlessDamaged(() => Promise.reject(new ArchiveDamaged(listed.fault)));
      continue;
    }
    for (const { name } of listed.manifest.blobs) met.add(name);
    // A compaction leaves its old blobs listed for a time.
    const given = new Identities();
    const manifest = { name: manifestName(listed.place), read: listed.manifest };
    for await (const { name, read } of blobsOf(archive.store, (blob) => entries.name(blob, access), manifest)) {
      met.add(name);
      signal.throwIfAborted();
      await unlessDamaged(async () => {
        const documents = await read();
        const known = await entries.read(documents, access);
        // Other lines are not the newest version of their document.
        const current = documents.flatMap((document, line) => {
          const entry = known[line];
          return isEntryOf(entry, document) && given.add(document) ? [asEntered(entry!, document)] : [];
        });
        await take(current);
      });
    }
  }
  for (const name of await unmetBlobs(archive, selection, met, access)) {
    if (unreadable.has(manifestBeside(name))) continue;
    signal.throwIfAborted();
    await unlessDamaged(async () => {
      const lines = await unmetLines(archive.store, entries, name, access);
      if (lines.length > 0) await take(lines);
    });
  }
  return 0;
}

/** The blobs of a selection that entries name and that are not among those that were met: someone emptied their folder. */
export async function unmetBlobs(
  { spec, stateContainer }: Pick<Archive, 'spec' | 'stateContainer'>,
  selection: Months,
  met: ReadonlySet<string>,
  access: DocumentAccess,
): Promise<string[]> {
  const named = await new Entries(stateContainer).blobs(prefixOf(spec), access);
  return named.filter((name) => !met.has(name) && isSelected(placeOf(name), selection));
}

/** The documents that entries name in such a blob. @throws ArchiveDamaged */
export async function unmetLines(
  store: BlobStore,
  entries: Entries,
  name: string,
  access: DocumentAccess,
): Promise<ArchivedDocument[]> {
  const of = (await entries.ofBlob(name, access)).filter(({ state }) => state === 'archived');
  if (of.length === 0) return [];
  const lines = await readBlob(store, name);
  return of.map((entry) => lineIn(lines, entry));
}

/**
 * How many of the named documents are archived, and in how many blobs. `bytes`: of the blobs; undefined if a manifest
 * can't be read or doesn't list one of them, which hinders no restore.
 */
export async function extentOf(
  archive: Archive,
  documents: Named,
  access: DocumentAccess,
): Promise<{ readonly documents: number; readonly blobs: number; readonly bytes: number | undefined }> {
  const known = await archivedEntries(archive, documents, access);
  const names = [...byBlob(known).keys()];
  let bytes: number | undefined = 0;
  for (const name of names) {
    const listed = await readManifest(archive.store, manifestBeside(name)).catch((error: unknown) => {
      if (error instanceof ArchiveDamaged || error instanceof FormatUnreadable) return undefined;
      throw error;
    });
    const record = listed?.blobs.find((blob) => blob.name === name);
    bytes = bytes === undefined || !record ? undefined : bytes + record.bytes;
  }
  return { documents: known.length, blobs: names.length, bytes };
}

async function archivedEntries(archive: Archive, documents: Named, access: DocumentAccess): Promise<StoredEntry[]> {
  const { container } = archive.spec.from;
  const identities = documents.map((document) => ({ ...document, container }));
  const known = await new Entries(archive.stateContainer).read(identities, access);
  return known.flatMap((entry) => (entry?.state === 'archived' ? [entry] : []));
}

const byBlob = (entries: readonly StoredEntry[]): Map<string, StoredEntry[]> =>
  Map.groupBy(entries, ({ blob }) => blob?.name ?? '');

/** The document of an entry that says archived. @throws ArchiveDamaged */
export const selectionLineOf = async ({ store }: Archive, entry: StoredEntry): Promise<ArchivedDocument> =>
  lineIn(entry.blob ? await readBlob(store, entry.blob.name) : [], entry);

/** The same, of the lines of its blob. @throws ArchiveDamaged */
export const lineIn = (lines: readonly ArchivedDocument[], entry: StoredEntry): ArchivedDocument =>
  asEntered(entry, assertLineOf(entry, entry.blob ? lines[entry.blob.line] : undefined));
