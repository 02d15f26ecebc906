import type { StoredAccount } from './account.ts';
import type { StoredContainer } from './container.ts';
import { tooManyRequests } from '../time-and-charge/faults.ts';
import type { PhysicalPartition, Saved } from './physical-partition.ts';
import { storedTargetOf } from './target.ts';
import { throughputFor } from './throughput.ts';
import { WireError, badRequest, header } from '../wire/wire.ts';
import type { WireCall, Reply } from '../wire/wire.ts';

/** The RU/s of each physical partition of the container; undefined without a limit. */
export function shareOf(account: StoredAccount, container: StoredContainer): number | undefined {
  const rate = rateOf(account, container);
  return rate === undefined ? undefined : rate / container.ranges.length;
}

function rateOf(account: StoredAccount, container: StoredContainer): number | undefined {
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
function sharers(account: StoredAccount, rid: string): number {
  const database = [...account.databases.values()].find((each) => each.rid === rid);
  if (!database) return 1;
  const own = new Set([...account.offers.values()].map(({ definition }) => definition.offerResourceId));
  return [...database.containers.values()].filter((container) => !own.has(container.rid)).length;
}

/** The part of a second's RUs that only requests of high priority may take (ASM-A14). */
const HIGH_ONLY = 0.2;

const OVER_BUCKET = 3212;

/** A limit that a request has to keep to on one partition. */
interface Limit {
  /** RU/s. */
  readonly share: number;
  readonly saved: Saved;
  /** The request is throttled at or below these RUs. */
  readonly least: number;
  readonly substatus: number;
}

/** The RUs that a partition has left now. */
export const left = (account: StoredAccount, share: number, range: PhysicalPartition): number =>
  earn(account, share, (range.saved ??= full(account, share)));

/**
 * Runs a request if all its partitions have RUs left, and charges them. With the fault `priorityLevels` a request of low
 * priority leaves a part for others; a request in a throughput bucket keeps to that bucket too.
 * @throws WireError 429 with a retry-after while one of them is in debt; 400 for a bucket that can't exist
 */
export function metered(account: StoredAccount, call: WireCall, container: StoredContainer, work: () => Reply): Reply {
  const bucket = bucketOf(call);
  const share = shareOf(account, container);
  if (share === undefined) return work();
  const { partitions } = storedTargetOf(call, container);
  const limits = partitions.map((range) => limitsOf(account, call, share, range, bucket));
  for (const { share: rate, saved, least, substatus } of limits.flat()) {
    const debt = least - earn(account, rate, saved);
    if (debt >= 0) throw tooManyRequests(1 + Math.ceil((debt / rate) * 1000), substatus);
  }
  let charge = 0;
  try {
    const reply = work();
    charge = Number(reply.headers['x-ms-request-charge'] ?? 0);
    return reply;
  } catch (error) {
    if (error instanceof WireError) charge = Number(error.headers['x-ms-request-charge'] ?? 0);
    throw error;
  } finally {
    for (const { saved } of limits.flat()) saved.left -= charge / partitions.length;
  }
}

/** Charges what no request asked for. */
export function spend(
  account: StoredAccount,
  container: StoredContainer,
  ranges: readonly PhysicalPartition[],
  charge: number,
): void {
  const share = shareOf(account, container);
  if (share === undefined) return;
  for (const range of ranges) {
    left(account, share, range);
    range.saved!.left -= charge / ranges.length;
  }
}

function bucketOf({ headers }: WireCall): number | undefined {
  const named = header(headers, 'x-ms-cosmos-throughput-bucket');
  if (named === undefined) return undefined;
  const bucket = Number(named);
  if (Number.isInteger(bucket) && bucket >= 1 && bucket <= 5) return bucket;
  throw badRequest(`The throughput bucket ${named} is not valid: buckets are 1 to 5.`);
}

function limitsOf(
  account: StoredAccount,
  { headers }: WireCall,
  share: number,
  range: PhysicalPartition,
  bucket: number | undefined,
): Limit[] {
  const { priorityLevels, throughputBuckets = {} } = account.faults;
  const isLow = priorityLevels === true && header(headers, 'x-ms-cosmos-priority-level') === 'Low';
  const saved = (range.saved ??= full(account, share));
  const whole = { share, saved, least: isLow ? HIGH_ONLY * share : 0, substatus: 3200 };
  // A bucket that isn't configured limits nothing.
  const percent = bucket === undefined ? undefined : throughputBuckets[bucket];
  if (bucket === undefined || percent === undefined) return [whole];
  const rate = (share * percent) / 100;
  const own = range.buckets.get(bucket) ?? full(account, rate);
  range.buckets.set(bucket, own);
  return [whole, { share: rate, saved: own, least: 0, substatus: OVER_BUCKET }];
}

const full = (account: StoredAccount, share: number): Saved => ({ left: share, at: account.now() });

function earn(account: StoredAccount, share: number, saved: Saved): number {
  const now = account.now();
  saved.left = Math.min(share, saved.left + ((now - saved.at) / 1000) * share);
  saved.at = now;
  return saved.left;
}
