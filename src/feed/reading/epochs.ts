import type { Container, PatchRequestBody } from '@azure/cosmos';
import { type Clock, systemClock } from '../../base/clock.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { rewrite } from '../../cosmos/rewrite.ts';

/** Until a read that was older than a write is asked for again. */
const STALE_MS = 50;

interface EpochDocument {
  id: string;
  pk: 'epochs';
  rid: string;
  epoch: number;
  /** When a host last made sure of it: of use to nobody but that a write is needed. */
  confirmedAt?: string;
}

/**
 * The generation of a source's numbering, kept in the state container. A container that was dropped and made again has
 * another rid and counts its lsn from the start, so its epoch is raised: newer versions win over those of the old one.
 */
export const currentEpoch = (state: Container, container: string, rid: string): Promise<number> =>
  settle(state, container, rid, 0, (stored) => stored.rid !== rid);

/** Raises the epoch from `known`, once for all hosts: the container lost changes, and counts their lsns again (L3). */
export const raiseEpoch = (state: Container, container: string, rid: string, known: number): Promise<number> =>
  settle(state, container, rid, known, (stored) => stored.rid !== rid || stored.epoch <= known);

/**
 * The epoch as a read finds it, at least `known`; changes nothing. For a batch whose host is paused while leases are moved,
 * and for longer than a replica lags. Of a container made anew it says nothing: the reader finds out.
 */
export async function latestEpoch(state: Container, container: string, rid: string, known: number): Promise<number> {
  const item = state.item(container, 'epochs');
  const { resource: stored } = await withRetry(() => item.read<EpochDocument>(), { reads: true });
  return stored?.rid === rid ? Math.max(known, stored.epoch) : known;
}

/**
 * The same for a host that took a lease a moment ago: others may have raised the epoch just before, as they do before
 * leases are moved back (docs/SPEC-leases.md M12). A read may be older than that (A3), so what it found is confirmed by a
 * write under the condition that nothing higher is stored.
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
      condition: `from c where c.rid != ${JSON.stringify(rid)} or c.epoch <= ${epoch}`,
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

/** Above `known` and what is stored where that is outdated. */
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
      : { id: container, pk: 'epochs', rid, epoch: Math.max(known, stored?.epoch ?? 0) + 1 },
  );
  return after.epoch;
}
