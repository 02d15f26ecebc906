import type { FeedRange } from '../../cosmos/ranges.ts';
import type { Lag } from '../../feed/processor/lag-estimator.ts';
import { contains, overlaps } from '../../feed/reading/position.ts';
import type { LeaseGroup, StoredLease } from './groups.ts';

/** The state of a lease, as far as its document and the feed show it. */
export type LeaseState = 'owned' | 'stuck' | 'expired' | 'free' | 'split' | 'duplicate' | 'orphaned' | 'unresolved';

export interface StateOptions {
  /** Milliseconds. */
  readonly now: number;
  readonly expirationMs: number;
}

/** An owned lease is stuck if its oldest change has waited for longer than this. */
const STUCK_MS = 300_000;

/** The state of one lease of a group, and the reason. */
export function leaseStateOf(
  lease: StoredLease,
  { monitored, leases }: Pick<LeaseGroup, 'monitored' | 'leases'>,
  lag: Lag,
  options: StateOptions,
): { state: LeaseState; why: string } {
  const { range, owner } = lease;
  if (!monitored) return { state: 'orphaned', why: 'its container is not in this database' };
  if (!range)
    return { state: 'unresolved', why: `its container does not have partition ${lease.token}, and never had` };
  const others = leases.filter((other) => other !== lease && other.range !== undefined);
  const twin = others.find((other) => other.range && same(other.range, range));
  if (twin) return { state: 'duplicate', why: `${twin.id} is for the same range` };
  const inside = others.filter((other) => other.range && contains(range, other.range));
  if (inside.length > 0)
    return {
      state: 'split',
      why: `its split is not finished: ${inside.map(({ token }) => token).join(', ')} lie inside it`,
    };
  const parts = monitored.partitions.ranges.filter((of) => overlaps(of, range));
  if (parts.length > 1)
    return { state: 'split', why: `its range now has ${parts.length} partitions; its owner will replace it` };
  const idleMs = Math.max(0, options.now - lease.storedAt);
  const ago = `${Math.round(idleMs / 1000)} s ago`;
  if (owner === null) return { state: 'free', why: `released ${ago}; no host runs, or each has its share` };
  if (idleMs > options.expirationMs)
    return { state: 'expired', why: `${owner} last wrote it ${ago}: it died, or can't reach the lease container` };
  if (lag.known && lag.ageMs > STUCK_MS)
    return {
      state: 'stuck',
      why: `${owner} renews it, but its oldest change has waited for ${Math.round(lag.ageMs / 1000)} s`,
    };
  return { state: 'owned', why: `${owner} wrote it ${ago}` };
}

const same = (a: FeedRange, b: FeedRange): boolean => a.min === b.min && a.max === b.max;
