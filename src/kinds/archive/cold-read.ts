import type { Identity, Version } from '../../feed/reading/change.ts';
import type { DocumentAccess } from '../../access/document-access.ts';

/**
 * Reads a source document from the archive as it was stored, with `_etag` and `_ts`; undefined if the archive does not
 * have exactly this version. For projections that read a source again. `runtime` binds it, since the room `archive` is
 * above `projections`.
 */
export type ColdRead = (
  document: Identity & { readonly version: Version },
  access: DocumentAccess,
) => Promise<Record<string, unknown> | undefined>;
