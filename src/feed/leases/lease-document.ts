import { isObject } from '../../base/json.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import type { LeaseDocument } from './dialects/dialect.ts';
import { readDocument } from './dialects/read.ts';
import { writeDocument } from './dialects/write.ts';
import type { Lease } from './lease.ts';
import { parseShared } from './shared-history.ts';
import type { FeedMode } from '../reading/source.ts';

/** Version 0 for a physical partition, told by its id; version 1 for any other range, told by its borders. */
export const newLeaseDocument = (
  prefix: string,
  partition: string | undefined,
  range: FeedRange,
  position: string | null,
  mode: FeedMode = 'latest-version',
  /** The lease whose place it takes, wholly or in part: what we don't know of it goes along. */
  from?: LeaseDocument,
): LeaseDocument =>
  writeDocument(
    partition === undefined ? 'dotnet-v1' : 'dotnet-v0',
    { prefix, partition, range, position: position ?? undefined, mode },
    from,
  );

/** Reads a stored lease of any dialect; undefined where the document is none or its range can't be told. */
export function parseLease(raw: unknown, rangeOf: (token: string) => FeedRange | undefined): Lease | undefined {
  const reading = readDocument(raw);
  if (reading.kind !== 'lease' || !isObject(raw)) return undefined;
  const { id, _etag: etag } = raw;
  if (typeof id !== 'string' || typeof etag !== 'string') return undefined;
  const range = reading.range ?? rangeOf(reading.token);
  if (!range) return undefined;
  const { token, owner, position } = reading;
  return { id, token, range, owner, ...(position === undefined ? {} : { position }), ...ownContent(raw), etag };
}

/** For which tenure the lease was last taken, from which (L1c), and what it has in common with others since a split (L5c). */
type OwnContent = Pick<Lease, 'tenure' | 'takenFrom' | 'shared'>;

/** What only our hosts write and read. */
export function ownFields({ tenure, takenFrom, shared = [] }: OwnContent): Pick<LeaseDocument, 'millrace'> {
  if (tenure === undefined && shared.length === 0) return {};
  return {
    millrace: {
      ...(tenure !== undefined && { tenure }),
      ...(takenFrom && { takenFrom }),
      ...(shared.length > 0 && { shared }),
    },
  };
}

export function ownContent({ millrace }: Record<string, unknown>): OwnContent {
  if (!isObject(millrace)) return {};
  const { tenure, takenFrom } = millrace;
  const shared = parseShared(millrace['shared']);
  if (typeof tenure !== 'string') return shared ? { shared } : {};
  const { owner, tenure: former } = isObject(takenFrom) ? takenFrom : {};
  return {
    tenure,
    ...(typeof owner === 'string' && typeof former === 'string' && { takenFrom: { owner, tenure: former } }),
    ...(shared && { shared }),
  };
}

/**
 * A stored lease as we write it back: .NET's as it is, with a feed range where an older host left it out (a split would
 * otherwise leave nobody knowing which it was); Java's as .NET's, since its forms are written on export alone.
 */
export function inOurDialect(document: LeaseDocument, lease: Lease, partition: string | undefined): LeaseDocument {
  const reading = readDocument(document);
  if (reading.kind !== 'lease') return document;
  const { min, max } = lease.range;
  if (reading.dialect.startsWith('dotnet'))
    return reading.range ? document : { ...document, FeedRange: { Range: { min, max } } };
  const { position, owner, range } = lease;
  const dialect = reading.dialect === 'java-epk' || partition === undefined ? 'dotnet-v1' : 'dotnet-v0';
  const own = writeDocument(dialect, { prefix: '', partition, range, position, owner, mode: reading.mode }, document);
  const { id, LeaseToken, _etag, partitionKey } = document;
  return {
    ...own,
    id,
    LeaseToken,
    ...(_etag === undefined ? {} : { _etag }),
    ...(partitionKey === undefined ? {} : { partitionKey }),
  };
}
