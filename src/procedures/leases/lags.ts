import pMap from 'p-map';
import { type Lag, LagEstimator } from '../../feed/processor/lag-estimator.ts';
import { sharedOf } from '../../feed/leases/lease-document.ts';
import type { LeaseGroup, StoredLease } from './groups.ts';

/**
 * The lag of each lease of the groups. A lease without a position starts at the beginning if it is ours; where other
 * processors start is unknown.
 */
export async function lagsOf(groups: readonly LeaseGroup[]): Promise<ReadonlyMap<StoredLease, Lag>> {
  const all = groups.flatMap((group) => group.leases.map((lease) => ({ group, lease })));
  const lags = await pMap(all, async ({ group, lease }) => [lease, await lagOf(group, lease)] as const, {
    concurrency: 8,
  });
  return new Map(lags);
}

async function lagOf({ monitored, own }: LeaseGroup, { range, position, mode, document }: StoredLease): Promise<Lag> {
  if (!monitored) return { known: false, why: 'its container is not in this database' };
  if (!range) return { known: false, why: 'its range is unknown' };
  const { container, rid } = monitored;
  // The all-versions feed has no beginning.
  const start = own && mode !== 'all-versions' ? { start: 'beginning' as const } : {};
  return new LagEstimator({ container, rid, mode, ...start }).lagOf({
    range,
    position,
    shared: sharedOf(document),
  });
}

/** For a table: `0`, `at most 1,204, 35 s`, `unknown`. */
export function lagText(lag: Lag): string {
  if (!lag.known) return 'unknown';
  if (lag.changes === 0) return '0';
  return `${lag.changes.toLocaleString('en-US')}, ${Math.round(lag.ageMs / 1000)} s`;
}
