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
  /** Name of the blob and the line in it, from 0; null in a void entry. */
  readonly blob: { readonly name: string; readonly line: number } | null;
}
