import type { FeedRange } from '../cosmos/ranges.ts';
import type { Lease, LeaseStore } from './lease.ts';

/**
 * Replaces a lease by leases of the physical partitions its range consists of now (R10, L5). The parent is written
 * first, which proves that it is still ours, and deleted last; its children take over the acknowledged position. Only
 * leases *inside* the parent count as cover, so a split that somebody left half done is finished by whoever comes next.
 *
 * Resolves with the lease where it is still one partition, or a part of one (after a merge): it goes on as it is.
 * @throws LeaseLost when another host has the parent
 */
export async function splitLease(store: LeaseStore, lease: Lease): Promise<Lease | undefined> {
  const parent = await store.renew(lease);
  const physical = await store.ranges();
  const inside = (await store.list()).filter((other) => other.id !== parent.id && contains(parent.range, other.range));
  const slices = physical.map((range) => intersection(range, parent.range)).filter((slice) => slice !== undefined);
  const [only] = slices;
  if (inside.length === 0 && slices.length <= 1 && (!only || contains(only, parent.range))) return parent;
  for (const slice of inside.reduce<FeedRange[]>(
    (left, { range }) => left.flatMap((one) => without(one, range)),
    slices,
  )) {
    await store.assertOwned(parent);
    await store.create(slice, parent.position);
  }
  await store.remove(parent);
  return undefined;
}

/** True where a lease's range holds narrower leases: its split was begun and not finished. */
export const isHalfSplit = (lease: Lease, listed: readonly Lease[]): boolean =>
  listed.some((other) => other.id !== lease.id && contains(lease.range, other.range));

const contains = (outer: FeedRange, inner: FeedRange): boolean => outer.min <= inner.min && inner.max <= outer.max;

function intersection(a: FeedRange, b: FeedRange): FeedRange | undefined {
  const min = a.min > b.min ? a.min : b.min;
  const max = a.max < b.max ? a.max : b.max;
  return min < max ? { min, max } : undefined;
}

/** What is left of a range without another: nothing, one part or two. */
const without = (range: FeedRange, hole: FeedRange): FeedRange[] =>
  intersection(range, hole) === undefined
    ? [range]
    : [
        { min: range.min, max: hole.min },
        { min: hole.max, max: range.max },
      ].filter(({ min, max }) => min < max);
