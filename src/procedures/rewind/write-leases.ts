import { failureOf } from '../../cosmos/failure.ts';
import { AmbiguousOutcome, withRetry } from '../../cosmos/retry.ts';
import type { LeaseDocument } from '../../feed/leases/dialects/dialect.ts';
import { type LeaseContainer, explainLeases } from '../../feed/leases/lease-container.ts';
import { HostRuns } from './until-quiet.ts';

type Stored = LeaseDocument & { readonly _etag: string };

/**
 * Replaces a lease that is unchanged since it was read; otherwise throws HostRuns. Every write has its own timestamp, so
 * that a read shows whether a write without a clear answer took effect.
 * @param sofar a sentence for the error that says what was changed before
 */
export async function replaceLease(
  container: LeaseContainer,
  stored: Stored,
  changed: Partial<LeaseDocument>,
  sofar: string,
): Promise<Stored> {
  const wanted = { ...stored, ...changed, timestamp: new Date().toISOString() };
  const condition = { accessCondition: { type: 'IfMatch', condition: stored._etag } };
  for (;;) {
    try {
      const { etag } = await withRetry(() => container.item(stored).replace(wanted, condition), { reads: false });
      return { ...wanted, _etag: etag };
    } catch (error) {
      const { kind } = failureOf(error);
      if (!(error instanceof AmbiguousOutcome) && kind !== 'precondition' && kind !== 'not-found')
        throw explainLeases(error, container.container);
      const now = await read(container, stored);
      if (now && now.timestamp === wanted.timestamp && now.ContinuationToken === wanted.ContinuationToken) return now;
      if (error instanceof AmbiguousOutcome && now?._etag === stored._etag) continue;
      throw new HostRuns(stored.id, now?.Owner ?? stored.Owner, sofar, error);
    }
  }
}

/** Deletes a lease that is unchanged since it was read; otherwise throws HostRuns. Returns if it is already deleted. */
export async function deleteLease(container: LeaseContainer, stored: Stored, sofar: string): Promise<void> {
  const condition = { accessCondition: { type: 'IfMatch', condition: stored._etag } };
  for (;;) {
    try {
      await withRetry(() => container.item(stored).delete(condition), { reads: false });
      return;
    } catch (error) {
      const { kind } = failureOf(error);
      if (kind === 'not-found') return;
      if (!(error instanceof AmbiguousOutcome) && kind !== 'precondition')
        throw explainLeases(error, container.container);
      const now = await read(container, stored);
      if (!now) return;
      if (now._etag !== stored._etag) throw new HostRuns(stored.id, now.Owner, sofar, error);
    }
  }
}

/** Creates a document, unless it exists. */
export async function createDocument(
  container: LeaseContainer,
  document: { id: string } & Record<string, unknown>,
): Promise<void> {
  const create = () => container.container.items.create(container.stamped(document));
  // If an answer was lost, the next try finds the document and gets a conflict.
  await withRetry(create, { reads: true }).catch((error: unknown) => {
    if (failureOf(error).kind !== 'conflict') throw explainLeases(error, container.container);
  });
}

/** Deletes a marker. No condition is needed, because no host writes a marker twice. */
export async function deleteMarker(container: LeaseContainer, prefix: string): Promise<void> {
  await withRetry(() => container.item({ id: `${prefix}.info` }).delete(), { reads: true }).catch((error: unknown) => {
    if (failureOf(error).kind !== 'not-found') throw explainLeases(error, container.container);
  });
}

async function read(container: LeaseContainer, stored: Stored): Promise<Stored | undefined> {
  return (await withRetry(() => container.item(stored).read<Stored>(), { reads: true })).resource;
}
