import type { LagEstimator } from './lag-estimator.ts';
import type { Lease, LeaseStore } from '../leases/lease.ts';
import { gapsOf } from '../sharing/split.ts';

/**
 * The leases beside `own`, of other hosts or free, if every range has a lease and none of these leases has a change left
 * after its stored position; else undefined (PROC-L11a).
 */
export async function readElsewhere(
  leases: LeaseStore,
  lags: LagEstimator,
  own: readonly { readonly id: string }[],
): Promise<readonly Lease[] | undefined> {
  const listed = await leases.list();
  if (listed.length === 0 || gapsOf(listed).length > 0) return undefined;
  const ids = new Set(own.map(({ id }) => id));
  const others = listed.filter(({ id }) => !ids.has(id));
  const left = await Promise.all(others.map((lease) => lags.lagOf(lease)));
  return left.every((lag) => lag.known && lag.changes === 0) ? others : undefined;
}
