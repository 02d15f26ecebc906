import type { Identity, Version } from '../../feed/reading/change.ts';
import type { SinkSession } from '../../sinks/session.ts';

/**
 * A source document as it was stored, `_etag` and `_ts` included, if it lies in the archive in exactly this version. For
 * projections that go back to a source; bound in runtime, since the archive lies above the projections.
 */
export type ColdRead = (
  document: Identity & { readonly version: Version },
  session: SinkSession,
) => Promise<Record<string, unknown> | undefined>;
