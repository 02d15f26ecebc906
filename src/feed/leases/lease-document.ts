import { assertFormat, formatOf, isReadable } from '../../base/format.ts';
import { isObject } from '../../base/json.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import type { LeaseDocument } from './dialects/dialect.ts';
import { readDocument } from './dialects/read.ts';
import { writeDocument } from './dialects/write.ts';
import type { Lease } from './lease.ts';
import { parseShared } from './shared-history.ts';
import type { FeedMode } from '../reading/source.ts';

/** A .NET lease: version 0 (with the partition id) for a physical partition, version 1 (with min and max) for any other range. */
export const newLeaseDocument = (
  prefix: string,
  partition: string | undefined,
  range: FeedRange,
  position: string | null,
  mode: FeedMode = 'latest-version',
  /** The lease that it replaces, wholly or in part. Its unknown fields are copied. */
  from?: LeaseDocument,
): LeaseDocument =>
  writeDocument(
    partition === undefined ? 'dotnet-v1' : 'dotnet-v0',
    { prefix, partition, range, position: position ?? undefined, mode },
    from,
  );

/**
 * Reads a stored lease of any dialect; undefined if the document is not a lease, or its range is unknown.
 * @throws FormatUnreadable
 */
export function parseLease(raw: unknown, rangeOf: (token: string) => FeedRange | undefined): Lease | undefined {
  const reading = readDocument(raw);
  if (reading.kind !== 'lease' || !isObject(raw)) return undefined;
  const { id, _etag: etag } = raw;
  if (typeof id !== 'string' || typeof etag !== 'string') return undefined;
  const range = reading.range ?? rangeOf(reading.token);
  if (!range) return undefined;
  const { token, owner, position } = reading;
  return { id, token, range, owner, ...(position === undefined ? {} : { position }), ...ownContent(raw, id), etag };
}

/**
 * The tenure that took the lease last, the tenure it was taken from (PROC-L1c), and the history that it shares with other
 * leases since a split (PROC-L5c).
 */
type OwnContent = Pick<Lease, 'tenure' | 'takenFrom' | 'shared'>;

/** The fields that only Millrace hosts write and read. */
export function leaseOwnFields({ tenure, takenFrom, shared = [] }: OwnContent): Pick<LeaseDocument, 'millrace'> {
  if (tenure === undefined && shared.length === 0) return {};
  return {
    millrace: {
      ...formatOf('lease'),
      ...(tenure !== undefined && { tenure }),
      ...(takenFrom && { takenFrom }),
      ...(shared.length > 0 && { shared }),
    },
  };
}

/** For lags alone: unknown where a later version has written the lease. */
export const sharedOf = (document: Record<string, unknown>): OwnContent['shared'] =>
  isObject(document['millrace']) && !isReadable('lease', document['millrace']['format'])
    ? undefined
    : ownContent(document).shared;

/** @throws FormatUnreadable */
export function ownContent({ millrace }: Record<string, unknown>, id?: string): OwnContent {
  if (!isObject(millrace)) return {};
  assertFormat('lease', millrace['format'], id);
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
 * The form in which Millrace writes a stored lease back. A .NET lease stays as it is; if an old host left its feed range
 * out, the range is added, because after a split the partition id would not identify it. A Java lease becomes a .NET
 * lease: Java's forms are written only by an export.
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
