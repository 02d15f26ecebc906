import type { Identity, Version } from '../../feed/reading/change.ts';

/**
 * The state of one document in the archive (ARC-H3); it never goes back to an older version. `archived`: the newest known
 * version is in `blob`. `void`: a newer version is in the container, or the document was deleted; the blob is history.
 */
export interface ArchiveEntry extends Identity {
  /** `name@version` of the archive projection that wrote the entry last. */
  readonly projection: string;
  readonly type: string;
  readonly version: Version;
  readonly state: 'archived' | 'void';
  /**
   * Name of the blob and the line in it, from 0; null in a void entry. `etag`: that of the line, where the entry's version is
   * another one: that of the copy by which a move took the document to this shard.
   */
  readonly blob: { readonly name: string; readonly line: number; readonly etag?: string } | null;
  /** What the all-versions feed has shown; absent before, and for a container that is read by its other feed. */
  readonly shown?: Shown;
}

export interface Shown {
  /**
   * The versions that changed the entry's state, the oldest first. Before each, it had the other state. Absent: the entry's
   * own version.
   */
  readonly turns?: readonly Version[];
  /** ETag of the version in which the archive marked the document. A later one with this mark is the application's. */
  readonly left?: string;
  /** The placeholder that stands in the document's place. */
  readonly placeholder?: Version;
}

/** A change of a document that is read again is rarely older than this. */
const TURNS = 8;

export const turnsOf = ({ shown, version }: Pick<ArchiveEntry, 'shown' | 'version'>): readonly Version[] =>
  shown?.turns ?? [version];

/** The turns of an entry whose state changes at a version. */
export const turnsAfter = (before: Pick<ArchiveEntry, 'shown' | 'version'>, at: Version): readonly Version[] =>
  [...turnsOf(before), at].slice(-TURNS);
