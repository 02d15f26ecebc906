import type { Container, PatchRequestBody } from '@azure/cosmos';
import { type Clock, systemClock } from '../../base/clock.ts';
import { formatOf, readableWhere } from '../../base/format.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { rewrite } from '../../cosmos/rewrite.ts';

/** Pause before reading again, after a read that may be older than a write. */
const STALE_MS = 50;

interface EpochDocument {
  id: string;
  pk: 'epochs';
  rid: string;
  epoch: number;
  /** When a host last confirmed the epoch. No code reads it: the write itself is the purpose. */
  confirmedAt?: string;
}

/**
 * The epoch of a source, stored in the state container. A container that was deleted and created again has another rid
 * and counts its lsn from the start. So its epoch is raised, and its versions win over those of the old container.
 */
export const currentEpoch = (state: Container, container: string, rid: string): Promise<number> =>
  settle(state, container, rid, 0, (stored) => stored.rid !== rid);

/**
 * Raises the epoch above `known`, once for all hosts. For a container that lost changes and uses their lsns again
 * (PROC-L3).
 */
export const raiseEpoch = (state: Container, container: string, rid: string, known: number): Promise<number> =>
  settle(state, container, rid, known, (stored) => stored.rid !== rid || stored.epoch <= known);

/**
 * The stored epoch, at least `known`. Changes nothing. For Functions batches: their host is paused while leases are moved,
 * for longer than a replica lags. For a container that was created again it returns `known`; the read of the feed detects
 * that case.
 */
export async function latestEpoch(state: Container, container: string, rid: string, known: number): Promise<number> {
  const stored = await readItem<EpochDocument>(state.item(container, 'epochs'));
  return stored?.rid === rid ? Math.max(known, stored.epoch) : known;
}

/**
 * The same for a host that has just taken a lease. Another process may have raised the epoch just before, as it must
 * before it moves leases back (LEASE-M12). A read may be older than that (ASM-A3). So a write confirms the epoch, on the
 * condition that no higher one is stored.
 */
export async function confirmedEpoch(
  state: Container,
  container: string,
  rid: string,
  known: number,
  clock: Clock = systemClock,
): Promise<number> {
  const item = state.item(container, 'epochs');
  for (;;) {
    const epoch = await latestEpoch(state, container, rid, known);
    const confirm: PatchRequestBody = {
      condition: `from c where (c.rid != ${JSON.stringify(rid)} or c.epoch <= ${epoch}) and ${readableWhere('epoch')}`,
      operations: [{ op: 'set', path: '/confirmedAt', value: new Date(clock.now()).toISOString() }],
    };
    try {
      await withRetry(() => item.patch(confirm), { reads: true, clock });
      return epoch;
    } catch (error) {
      const { kind } = failureOf(error);
      if (kind === 'not-found') return epoch;
      if (kind !== 'precondition') throw error;
    }
    await clock.sleep(STALE_MS);
  }
}

/** Returns the stored epoch. If it is outdated, stores an epoch above it and above `known`. */
async function settle(
  state: Container,
  container: string,
  rid: string,
  known: number,
  outdated: (stored: EpochDocument) => boolean,
): Promise<number> {
  const { after } = await rewrite(state, { id: container, pk: 'epochs' }, (stored?: EpochDocument): EpochDocument =>
    stored && !outdated(stored)
      ? stored
      : { id: container, pk: 'epochs', ...formatOf('epoch'), rid, epoch: Math.max(known, stored?.epoch ?? 0) + 1 },
  );
  return after.epoch;
}
