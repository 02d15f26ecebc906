import type { Container } from '@azure/cosmos';
import { failureOf } from '../cosmos/failure.ts';
import { AmbiguousOutcome, withRetry } from '../cosmos/retry.ts';

interface EpochDocument {
  id: string;
  pk: 'epochs';
  rid: string;
  epoch: number;
  _etag?: string;
}

/**
 * The generation of a source's numbering, kept in the state container. A container that was dropped and made again has
 * another rid and counts its lsn from the start, so its epoch is raised: newer versions win over those of the old one.
 */
export const currentEpoch = (state: Container, container: string, rid: string): Promise<number> =>
  settle(state, container, rid, (stored) => stored.rid !== rid);

/** Raises the epoch from `known`, once for all hosts: the container lost changes, and counts their lsns again (L3). */
export const raiseEpoch = (state: Container, container: string, rid: string, known: number): Promise<number> =>
  settle(state, container, rid, (stored) => stored.rid !== rid || stored.epoch <= known);

/**
 * The epoch as it is now, at least `known`; changes nothing. For whoever reads on: others may have raised it since, as
 * before leases are moved back (docs/SPEC-leases.md M12). Of a container made anew it says nothing: the reader finds out.
 */
export async function latestEpoch(state: Container, container: string, rid: string, known: number): Promise<number> {
  const item = state.item(container, 'epochs');
  const { resource: stored } = await withRetry(() => item.read<EpochDocument>(), { reads: true });
  return stored?.rid === rid ? Math.max(known, stored.epoch) : known;
}

async function settle(
  state: Container,
  container: string,
  rid: string,
  outdated: (stored: EpochDocument) => boolean,
): Promise<number> {
  const item = state.item(container, 'epochs');
  for (;;) {
    const { resource: stored } = await withRetry(() => item.read<EpochDocument>(), { reads: true });
    if (stored && !outdated(stored)) return stored.epoch;
    const next: EpochDocument = { id: container, pk: 'epochs', rid, epoch: (stored?.epoch ?? 0) + 1 };
    try {
      const condition = stored?._etag;
      await withRetry(
        () =>
          condition
            ? item.replace(next, { accessCondition: { type: 'IfMatch', condition } })
            : state.items.create(next),
        { reads: false },
      );
      return next.epoch;
    } catch (error) {
      const { kind } = failureOf(error);
      if (kind !== 'precondition' && kind !== 'conflict' && !(error instanceof AmbiguousOutcome)) throw error;
    }
  }
}
