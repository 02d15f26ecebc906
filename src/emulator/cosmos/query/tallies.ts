import type { Prepared } from '../../sql/prepare.ts';
import type { StoredContainer } from '../storage/container.ts';
import type { StoredVersion } from '../storage/logical-partition.ts';
import type { Replica } from '../storage/replica.ts';
import { Tally } from '../storage/tally.ts';
import type { StoredTarget } from '../storage/target.ts';

/** Of a logical partition; further queries that count take the place of the first. */
const MAX_TALLIES = 4;

/**
 * The count of one large logical partition that an earlier query has left, or a new one. Undefined: the query does more than
 * count, an index would find less to read, or the answer depends on the time. `query` is its text with its parameters.
 */
export function tallyOf(
  container: StoredContainer,
  { key }: StoredTarget,
  { counting, restrictions }: Prepared,
  { query, replica, from }: { readonly query: string; readonly replica: Replica; readonly from: number },
): Tally<StoredVersion> | undefined {
  const home = key && container.find(key);
  const { defaultTtl = -1 } = container;
  if (!home || !counting || restrictions.length > 0 || replica.lags || defaultTtl !== -1) return undefined;
  if (home.items.size < from) return undefined;
  let tally = home.tallies.get(query);
  if (!tally) {
    if (home.tallies.size >= MAX_TALLIES) home.tallies.delete(home.tallies.keys().next().value!);
    tally = new Tally(counting.holds, home.items.values());
    home.tallies.set(query, tally);
  }
  tally.use();
  return container.defaultTtl === -1 && tally.mayExpire ? undefined : tally;
}
