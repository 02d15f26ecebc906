import { canonical } from '../../base/json.ts';
import type { DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import { type Registered, mayWait } from '../../engine/deferred/registered.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import { type Change, type Identity, feedLsnOf } from '../../feed/reading/change.ts';
import type { Lease } from '../../feed/leases/lease.ts';
import type { SourceContainer } from '../../feed/reading/mapper.ts';
import { lsnOf } from '../../feed/reading/position.ts';
import type { Gate } from '../types.ts';

export interface GateOptions {
  /** Whose documents may leave. */
  readonly source: Pick<SourceContainer, 'keyPaths' | 'tenant'>;
  readonly deadLetters: Pick<DeadLetters, 'list'>;
  /** Of the source. */
  readonly deferred: Pick<Registered, 'tenants'>;
}

/**
 * Reads the positions of the live hosts, their dead letters, and what they have deferred. `leases` lists the leases of the
 * source container (`CosmosLeaseStore.list`, after `prepare`).
 */
export async function openGate(
  leases: () => Promise<readonly Lease[]>,
  { source, deadLetters, deferred }: GateOptions,
): Promise<Gate> {
  // In this order: if a checkpoint has passed a change that was not applied, its dead letter or its bundle was written
  // before. A bundle that becomes a dead letter leaves the queues after that.
  const positions = await leases();
  const tenants = await deferred.tenants();
  const parked = new Set((await deadLetters.list()).map(identity));
  return {
    acknowledged: (range) => acknowledgedBy(positions, range),
    parked: (document) => parked.has(identity(document)),
    waits: (document) => mayWait(tenants, source, document),
  };
}

/** The smallest position of the leases that cover the range; undefined if a part isn't covered, or a lease has no position. */
export function acknowledgedBy(
  leases: readonly Pick<Lease, 'range' | 'position'>[],
  range: FeedRange,
): number | undefined {
  let least = Infinity;
  let covered = range.min;
  for (const lease of leases.toSorted((a, b) => (a.range.min < b.range.min ? -1 : 1))) {
    if (lease.range.max <= range.min || lease.range.min >= range.max) continue;
    const lsn = lease.position === undefined ? NaN : lsnOf(lease.position);
    if (!Number.isSafeInteger(lsn) || lease.range.min > covered) return undefined;
    least = Math.min(least, lsn);
    if (lease.range.max > covered) covered = lease.range.max;
  }
  return covered >= range.max ? least : undefined;
}

const identity = ({ container, key, id }: Identity): string => canonical([container, key, id]);

/** Whether every projection has got this version: it is acknowledged, and no change of the document is parked or deferred. */
export function mayLeave(
  gate: Gate,
  { range, change }: { readonly range: FeedRange; readonly change: Change },
): boolean {
  const acknowledged = gate.acknowledged(range);
  return acknowledged !== undefined && feedLsnOf(change) <= acknowledged && !gate.parked(change) && !gate.waits(change);
}
