import type { LeaseDocument } from './dialects/dialect.ts';
import { readDocument } from './dialects/read.ts';
import { parseLease } from './lease-document.ts';
import type { Lease } from './lease.ts';
import type { Partitions } from './partitions.ts';
import { lsnOf } from '../reading/position.ts';
import type { FeedMode } from '../reading/source.ts';
import { feedError } from '../errors.ts';

export interface KnownLease {
  readonly lease: Lease;
  readonly document: LeaseDocument;
}

/**
 * The leases among stored documents. A container with the key `/partitionKey` may hold one id several times, because old
 * hosts wrote it under random keys. All hosts pick the same one of these, so that no two hosts read one range (PROC-L6).
 * Documents that are not leases, or have an unknown dialect, are left out.
 * @throws UsageError `lease-mode-mismatch`
 */
export function readLeases(documents: readonly unknown[], partitions: Partitions, mode: FeedMode): KnownLease[] {
  const picked = new Map<string, KnownLease>();
  for (const document of documents) {
    const lease = parseLease(document, (token) => partitions.rangeOf(token));
    if (!lease) continue;
    const known = { lease, document: document as LeaseDocument };
    assertMode(known, mode);
    const other = picked.get(lease.id);
    picked.set(lease.id, other ? further(other, known) : known);
  }
  return [...picked.values()];
}

/** Both positions were acknowledged for one range, so the higher one counts. */
function further(a: KnownLease, b: KnownLease): KnownLease {
  const [x, y] = [lsnOf(a.lease.position), lsnOf(b.lease.position)];
  if (x !== y) return x > y ? a : b;
  return String(a.document.partitionKey) <= String(b.document.partitionKey) ? a : b;
}

function assertMode({ document }: KnownLease, mode: FeedMode): void {
  const reading = readDocument(document);
  if (reading.kind !== 'lease' || reading.mode === mode) return;
  throw feedError(
    'lease-mode-mismatch',
    `Lease ${document.id} holds a position in the ${reading.mode} feed, but this processor reads the ${mode} feed`,
  );
}
