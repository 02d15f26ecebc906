import { ArchiveDamaged, readBlob } from '../../archive/blobs/blob.ts';
import { isBlob, prefixOf } from '../../archive/blobs/layout.ts';
import type { ArchivedDocument } from '../../archive/types.ts';
import { canonical } from '../../base/json.ts';
import { projectionId } from '../../pipeline/specs.ts';
import type { Change } from '../../feed/reading/change.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import { Entries, type StoredEntry, forEach } from '../../kinds/archive/entries.ts';
import type { StoredArchive } from './stored-archives.ts';

/** A line of a blob that is its document's newest, and that no entry names. */
interface Unentered {
  readonly document: ArchivedDocument;
  readonly blob: { readonly name: string; readonly line: number };
}

const PAGE = 500;

/**
 * The lines of documents that are neither in the container nor archived by their entry. Two histories look the same: the
 * entry was lost with the state, or the document was deleted after a restore and its void entry has expired. Damaged blobs
 * are left out: `archive verify` names them.
 */
async function unentered(archive: StoredArchive, signal: AbortSignal): Promise<Unentered[]> {
  const access = archive.access(untilStopped(signal));
  const entries = new Entries(archive.stateContainer);
  const newest = new Map<string, Unentered>();
  for await (const name of archive.store.list(prefixOf(archive.spec))) {
    if (!isBlob(name)) continue;
    const documents = await readBlob(archive.store, name).catch((error: unknown) => {
      if (error instanceof ArchiveDamaged) return [];
      throw error;
    });
    for (let from = 0; from < documents.length; from += PAGE) {
      signal.throwIfAborted();
      const page = documents.slice(from, from + PAGE);
      const known = await entries.read(page, access);
      const open = page.flatMap((document, at) =>
        isBehind(known[at], document) ? [{ document, blob: { name, line: from + at } }] : [],
      );
      await forEach(open, async (one) => {
        const { container, key, id } = one.document;
        const [hot] = await access.read(container, key, [id]);
        if (hot) return;
        const place = canonical([container, key, id]);
        const before = newest.get(place);
        if (!before || isOlder(before.document.version, one.document.version)) newest.set(place, one);
      });
    }
  }
  return [...newest.values()];
}

const isBehind = (entry: StoredEntry | undefined, { version }: ArchivedDocument): boolean =>
  entry === undefined || isOlder(entry.version, version);

const isOlder = (a: ArchivedDocument['version'], b: ArchivedDocument['version']): boolean =>
  a.epoch === b.epoch ? a.lsn < b.lsn : a.epoch < b.epoch;

/** How many archived documents have no entry. */
export const countUnentered = async (archive: StoredArchive, signal: AbortSignal): Promise<number> =>
  (await unentered(archive, signal)).length;

/** Makes the entries again, from the lines of the blobs (REC-A1). Entries go forward in version only (ARC-H3). */
export async function makeEntries(archive: StoredArchive, signal: AbortSignal): Promise<number> {
  const access = archive.access(untilStopped(signal));
  const entries = new Entries(archive.stateContainer);
  let made = 0;
  await forEach(await unentered(archive, signal), async ({ document, blob }) => {
    const change: Change = { ...document, op: 'upsert' };
    if ((await entries.archive(projectionId(archive.spec), change, blob, access)) === 'written') made += 1;
  });
  return made;
}
