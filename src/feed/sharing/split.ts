import { FULL_RANGE, type FeedRange } from '../../cosmos/ranges.ts';
import type { Lease, LeaseStore } from '../leases/lease.ts';
import { contains, intersection, lsnOf, without } from '../reading/position.ts';
import { type SharedHistory, sharedAfter, sharedBySplit } from '../leases/shared-history.ts';

/**
 * Replaces a lease by leases of the physical partitions that its range has now (PROC-L5). The parent is written first, and
 * before each child, which proves that this host still has it; it is deleted last. The children get its acknowledged
 * position. Only leases *inside* the parent count as existing children, so the next host finishes an unfinished split.
 *
 * Resolves with the lease if it is still one partition, or a part of one (after a merge). Then it stays as it is.
 * @throws LeaseLost when another host has the parent
 */
export async function splitLease(
  store: LeaseStore,
  lease: Lease,
  /** The newest lsn of a range; undefined if it is unknown. */
  newestOf: (range: FeedRange) => Promise<number | undefined>,
): Promise<Lease | undefined> {
  let parent = await store.renew(lease);
  const physical = await store.ranges();
  const inside = (await store.list()).filter((other) => replaces(other, lease));
  const slices = physical.map((range) => intersection(range, lease.range)).filter((slice) => slice !== undefined);
  const [only] = slices;
  if (inside.length === 0 && slices.length <= 1 && (!only || contains(only, lease.range))) return parent;
  const uncovered = inside.reduce<FeedRange[]>((left, { range }) => left.flatMap((one) => without(one, range)), slices);
  const shared = uncovered.length > 0 ? await sharedAmong(slices, parent, newestOf) : undefined;
  for (const slice of uncovered) {
    // A write, not a read: a read may be old, and would stop the split again and again although this host has the lease
    // (ASM-A3).
    parent = await store.renew(parent);
    await store.create(slice, parent.position, parent, shared);
  }
  await store.remove(parent);
  return undefined;
}

/**
 * The history that the parts of a lease share (PROC-L5c). The lsn at the split is not known; it is at most the newest lsn
 * of the part with the fewest writes since. If that is unknown too, the unread changes count in each part.
 */
async function sharedAmong(
  slices: readonly FeedRange[],
  { shared = [], position }: Lease,
  newestOf: (range: FeedRange) => Promise<number | undefined>,
): Promise<readonly SharedHistory[]> {
  const newest = slices.length > 1 ? await Promise.all(slices.map(newestOf)) : [];
  const common = Math.min(...newest.map((lsn) => lsn ?? -1));
  return sharedAfter(newest.length > 0 ? sharedBySplit(shared, common, slices.length) : shared, position);
}

/** True: other leases replace this one. Its split was not finished, or the lease was created twice. */
export const isHalfSplit = (lease: Lease, listed: readonly Lease[]): boolean =>
  listed.some((other) => replaces(other, lease));

/**
 * A narrower lease inside another belongs to its split. Of two leases for one range the one with the smaller id stays, so
 * that two hosts never remove each other's lease. The other one is removed only when its position is not behind: the
 * changes between are read again, and none is skipped (PROC-L6).
 */
function replaces(other: Lease, lease: Lease): boolean {
  if (other.id === lease.id || !contains(lease.range, other.range)) return false;
  if (!contains(other.range, lease.range)) return true;
  return other.id < lease.id && lsnOf(other.position) <= lsnOf(lease.position);
}

/** The ranges that no lease covers. */
export const gapsOf = (leases: readonly Lease[], whole: FeedRange = FULL_RANGE): FeedRange[] =>
  leases.reduce<FeedRange[]>((left, { range }) => left.flatMap((one) => without(one, range)), [whole]);

/**
 * The lease that a range whose lease vanished continues from: the narrowest lease around it, as it was last seen, because
 * a wider one is older. Undefined if none was ever seen: the range then starts like a new one.
 */
export function lastSeen(range: FeedRange, seen: Iterable<Lease>): Lease | undefined {
  let best: Lease | undefined;
  for (const lease of seen) {
    if (!contains(lease.range, range)) continue;
    if (!best || (contains(best.range, lease.range) && !contains(lease.range, best.range))) best = lease;
  }
  return best;
}
