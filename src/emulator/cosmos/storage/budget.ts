import type { Account } from './account.ts';
import type { Container } from './container.ts';
import { tooManyRequests } from '../physics/faults.ts';
import type { PhysicalPartition } from './physical-partition.ts';
import { targetOf } from './target.ts';
import { throughputFor } from './throughput.ts';
import { WireError } from '../wire/wire.ts';
import type { Call, Reply } from '../wire/wire.ts';

/** The RU/s of each physical partition of the container; undefined without a limit. */
export function shareOf(account: Account, container: Container): number | undefined {
  const rate = rateOf(account, container);
  return rate === undefined ? undefined : rate / container.ranges.length;
}

function rateOf(account: Account, container: Container): number | undefined {
  const limit = account.limits.get(container.rid);
  if (limit !== undefined) return limit;
  if (account.faults.enforceThroughput !== true) return undefined;
  const database = container.self.split('/')[1]!;
  for (const rid of [container.rid, database]) {
    const throughput = throughputFor(account, rid);
    if (throughput) return throughput.maximum / sharers(account, rid);
  }
  return undefined;
}

/** How many containers share a throughput: for a database, those without a throughput of their own. */
function sharers(account: Account, rid: string): number {
  const database = [...account.databases.values()].find((each) => each.rid === rid);
  if (!database) return 1;
  const own = new Set([...account.offers.values()].map(({ definition }) => definition.offerResourceId));
  return [...database.containers.values()].filter((container) => !own.has(container.rid)).length;
}

/** The RUs that a partition has left now. */
export function left(account: Account, share: number, range: PhysicalPartition): number {
  const now = account.now();
  const budget = (range.budget ??= { left: share, at: now });
  budget.left = Math.min(share, budget.left + ((now - budget.at) / 1000) * share);
  budget.at = now;
  return budget.left;
}

/**
 * Runs a request if all its partitions have RUs left, and charges them.
 * @throws WireError 429 with a retry-after while one of them is in debt
 */
export function metered(account: Account, call: Call, container: Container, work: () => Reply): Reply {
  const share = shareOf(account, container);
  if (share === undefined) return work();
  const { partitions } = targetOf(call, container);
  const least = Math.min(...partitions.map((range) => left(account, share, range)));
  if (least <= 0) throw tooManyRequests(1 + Math.ceil((-least / share) * 1000));
  let charge = 0;
  try {
    const reply = work();
    charge = Number(reply.headers['x-ms-request-charge'] ?? 0);
    return reply;
  } catch (error) {
    if (error instanceof WireError) charge = Number(error.headers['x-ms-request-charge'] ?? 0);
    throw error;
  } finally {
    spend(account, container, partitions, charge);
  }
}

export function spend(
  account: Account,
  container: Container,
  ranges: readonly PhysicalPartition[],
  charge: number,
): void {
  const share = shareOf(account, container);
  if (share === undefined) return;
  for (const range of ranges) {
    left(account, share, range);
    range.budget!.left -= charge / ranges.length;
  }
}
