// The entries of several places that share their blobs, as one.
import { compareVersions } from '../../feed/reading/change.ts';
import type { ArchiveEntry } from '../../kinds/archive/entry.ts';
import type { DocumentAccess, SinkDocument } from '../../access/document-access.ts';

type Entry = SinkDocument & Pick<ArchiveEntry, 'state' | 'version'>;

/**
 * Reads entries wherever they are, and changes each in its place. While a key moves, two places have an entry of a document:
 * the one that says archived counts, or the newer one. A query finds those of all places, so that no blob goes which one of
 * them names. Creates nothing: an entry belongs to one place.
 */
export function allBlobs(accesses: readonly [DocumentAccess, ...DocumentAccess[]]): DocumentAccess {
  const [{ fence }] = accesses;
  /** Where an entry was read, by its key, id and ETag. */
  const readIn = new Map<string, DocumentAccess>();
  const nameOf = (key: unknown, id: string, etag: string): string => JSON.stringify([key, id, etag]);
  return {
    fence,
    read: async (container, key, ids) => {
      const found = await Promise.all(accesses.map(async (access) => access.read(container, key, ids)));
      return ids.map((id, at) => {
        let counts: Entry | undefined;
        for (const [index, entries] of found.entries()) {
          const entry = entries[at] as Entry | undefined;
          if (!entry) continue;
          readIn.set(nameOf(key, id, entry._etag), accesses[index]!);
          if (!counts || countsRather(entry, counts)) counts = entry;
        }
        return counts;
      });
    },
    commit: async (container, key, writes) => {
      const [first] = writes;
      const access = first && 'ifMatch' in first ? readIn.get(nameOf(key, first.id, first.ifMatch)) : undefined;
      if (!access) throw new TypeError('An entry is changed that was not read');
      return access.commit(container, key, writes);
    },
    query: async (container, sql, parameters, key) =>
      (await Promise.all(accesses.map(async (access) => access.query<never>(container, sql, parameters, key)))).flat(),
  };
}

function countsRather(other: Entry, known: Entry): boolean {
  if (other.state !== known.state) return other.state === 'archived';
  return compareVersions(known.version, other.version) === 'older';
}
