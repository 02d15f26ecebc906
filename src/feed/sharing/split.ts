import { FULL_RANGE, type FeedRange } from '../../cosmos/ranges.ts';
import type { Lease, LeaseStore } from '../leases/lease.ts';
import { contains, intersection, lsnOf, without } from '../reading/position.ts';
import { type SharedHistory, sharedAfter, sharedBySplit } from '../leases/shared-history.ts';

/**
 * Replaces a lease by leases of the physical partitions its range consists of now (R10, L5). The parent is written
 * first and before each child, which proves that it is still ours, and deleted last; its children take over the
 * acknowledged position. Only leases *inside* the parent count as cover, so a split that somebody left half done is
 * finished by whoever comes next.
 *
 * Resolves with the lease where it is still one partition, or a part of one (after a merge): it goes on as it is.
 * @throws LeaseLost when another host has the parent
 */
export async function splitLease(
  store: LeaseStore,
  lease: Lease,
  /** The newest lsn of a range, or undefined where that can't be told. */
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
    // Written and not read: a read may be old, and would end again and again a split that is this host's (A3).
    parent = await store.renew(parent);
    await store.create(slice, parent.position, parent, shared);
  }
  await store.remove(parent);
  return undefined;
}

/**
 * What the parts of a lease have in common (L5c). How far the whole was when it was split nothing tells: at most as far as
 * the part with the fewest writes since is now. Where that can't be told, what was unread counts in each part.
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

/** True where a lease's range holds others that stand for it: its split was begun and not finished, or it was made twice. */
export const isHalfSplit = (lease: Lease, listed: readonly Lease[]): boolean =>
  listed.some((other) => replaces(other, lease));

/**
 * A narrower lease inside another is part of its split. Of two leases for one range the one with the smaller id stays, so
 * that no two hosts each remove the other's; and the larger is removed only once it has read what the smaller one has
 * yet to read, or more: what lies between is then read again, and nothing is skipped (L6).
 */
function replaces(other: Lease, lease: Lease): boolean {
  if (other.id === lease.id || !contains(lease.range, other.range)) return false;
  if (!contains(other.range, lease.range)) return true;
  return other.id < lease.id && lsnOf(other.position) <= lsnOf(lease.position);
}

/** What none of the leases covers. */
export const gapsOf = (leases: readonly Lease[], whole: FeedRange = FULL_RANGE): FeedRange[] =>
  leases.reduce<FeedRange[]>((left, { range }) => left.flatMap((one) => without(one, range)), [whole]);

/**
 * Where a range whose lease vanished is read on: where the narrowest lease around it stood when it was last seen, as
 * what was wider is of an earlier time. Undefined where none was ever seen: it begins as a new range does.
 */
export function lastSeen(range: FeedRange, seen: Iterable<Lease>): Lease | undefined {
  let best: Lease | undefined;
  for (const lease of seen) {
    if (!contains(lease.range, range)) continue;
    if (!best || (contains(best.range, lease.range) && !contains(lease.range, best.range))) best = lease;
  }
  return best;
}
