import { ChangeFeedMode, ChangeFeedStartFrom, type Container } from '@azure/cosmos';
import { type Clock, systemClock } from '../../base/clock.ts';
import { isObject } from '../../base/json.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { type FeedRange, sayRange } from '../../cosmos/ranges.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { Partitions } from '../leases/partitions.ts';
import { intersection, lsnOf } from '../reading/position.ts';
import { type SharedHistory, countOwn } from '../leases/shared-history.ts';
import type { FeedMode } from '../reading/source.ts';

/** How far a lease is behind its feed. A lag that can't be known is never a number. */
export type Lag =
  | {
      readonly known: true;
      /**
       * Transactions behind the position, counted by lsn. Some of them may be deletions, versions that were overwritten
       * since, or changes in other parts of the physical partition. The parts of a split partition share the lsns of before:
       * each counts its share, as `shared` of its lease says. So the sum over the leases stays what it was before the split;
       * one part alone may have more or fewer of them. Without `shared` each part counts all of them: another kind of host
       * has split the lease, or no host has yet. 0 is exact, and so is the age.
       */
      readonly changes: number;
      /** The time since the oldest change that is left was written, milliseconds; 0 if none is left. */
      readonly ageMs: number;
      /** Request units of the estimate. */
      readonly charge: number;
    }
  | { readonly known: false; readonly why: string };

export interface EstimatorOptions {
  readonly container: Container;
  /** The container's `_rid`. */
  readonly rid: string;
  readonly mode?: FeedMode;
  /** Where the host begins a lease without a position, if you know: no lease says it. */
  readonly start?: 'beginning';
  readonly clock?: Clock;
}

/** The fields of a lease that its lag depends on. */
export interface LaggingLease {
  readonly range: FeedRange;
  readonly position?: string | undefined;
  readonly shared?: readonly SharedHistory[] | undefined;
}

interface Head {
  readonly changes: number;
  readonly ageMs: number;
  readonly charge: number;
}

/** Compares positions with the feed, by one read of one document for each physical partition. It changes nothing. */
export class LagEstimator {
  readonly #options: EstimatorOptions;

  constructor(options: EstimatorOptions) {
    this.#options = options;
  }

  async lagOf(lease: LaggingLease): Promise<Lag> {
    const from = lease.position ?? (this.#options.start === 'beginning' ? '' : undefined);
    if (from === undefined) return unknown('nothing was checkpointed yet, and only its host knows where it begins');
    if (from !== '' && !Number.isSafeInteger(lsnOf(from))) return unknown(`its position ${from} is not a number`);
    try {
      // A split during the first look makes it fail; the second one sees the parts.
      return (await this.#look(lease, from)) ?? (await this.#look(lease, from)) ?? unknown(MOVING);
    } catch (error) {
      const { kind, message } = failureOf(error);
      if (kind === 'not-found') return unknown(`the container ${this.#options.container.id} doesn’t exist any more`);
      return unknown(`the feed of ${this.#options.container.id} can't be read: ${message.split('\n')[0] ?? ''}`);
    }
  }

  /** Undefined if the partitions changed meanwhile. */
  async #look({ range, shared }: LaggingLease, from: string): Promise<Lag | undefined> {
    const physical = await Partitions.read(this.#options.container);
    const slices = physical.ranges.map((of) => intersection(of, range)).filter((slice) => slice !== undefined);
    if (slices.length === 0) return unknown(`the container has no range ${sayRange(range)}`);
    const heads = await Promise.all(slices.map((slice) => this.#head(slice, from, shared)));
    const sum = { known: true, changes: 0, ageMs: 0, charge: 0 };
    for (const head of heads) {
      if (head === undefined) return undefined;
      if (typeof head === 'string') return unknown(head);
      sum.changes += head.changes;
      sum.ageMs = Math.max(sum.ageMs, head.ageMs);
      sum.charge += head.charge;
    }
    return { ...sum, known: true };
  }

  /** The first change after a position in one physical partition or a part of it; as text, why it isn't known. */
  async #head(range: FeedRange, from: string, shared: LaggingLease['shared']): Promise<Head | string | undefined> {
    const { container, rid, mode = 'latest-version', clock = systemClock } = this.#options;
    const entry = { minInclusive: range.min, maxExclusive: range.max, continuationToken: from };
    const pull = container.items.getChangeFeedIterator<unknown>({
      changeFeedMode: mode === 'all-versions' ? ChangeFeedMode.AllVersionsAndDeletes : ChangeFeedMode.LatestVersion,
      changeFeedStartFrom: ChangeFeedStartFrom.Continuation(JSON.stringify({ rid, Continuation: [entry] })),
      maxItemCount: 1,
    });
    const response = await withRetry(() => pull.readNext(), { reads: true, withinMs: 10_000 });
    const after = JSON.parse(response.continuationToken) as { readonly Continuation: readonly unknown[] };
    if (after.Continuation.length > 1) return undefined;
    const charge = Number(response.headers['x-ms-request-charge'] ?? response.requestCharge);
    const newest = newestLsn(String(response.headers['x-ms-session-token'] ?? ''));
    if (newest !== undefined && newest < lsnOf(from)) {
      return `its position ${from} is ahead of the feed, which is at ${newest}: the container was restored or failed over`;
    }
    const [first] = response.result ?? [];
    if (first === undefined) return { changes: 0, ageMs: 0, charge };
    const { lsn, at } = stampOf(first);
    if (newest === undefined || lsn === undefined) return 'the service did not say how far the feed is';
    const ageMs = at === undefined ? 0 : Math.max(0, clock.now() - at * 1000);
    return { changes: Math.max(1, countOwn(lsn, newest, shared)), ageMs, charge };
  }
}

const MOVING = 'its physical partitions are being split or merged';
const unknown = (why: string): Lag => ({ known: false, why });

/** The global lsn of a session token: `range:version#lsn#region=lsn…`, or `range:lsn`. */
function newestLsn(token: string): number | undefined {
  const lsns = token
    .split(',')
    .map((one) => /^[^:]*:(?:-?\d+#)?(\d+)/.exec(one)?.[1])
    .filter((lsn) => lsn !== undefined)
    .map(Number);
  return lsns.length === 0 ? undefined : Math.max(...lsns);
}

/** The lsn and the time (in seconds) of an entry of either feed. */
function stampOf(raw: unknown): { lsn: number | undefined; at: number | undefined } {
  if (!isObject(raw)) return { lsn: undefined, at: undefined };
  const about = isObject(raw['metadata']) ? raw['metadata'] : raw;
  const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
  return { lsn: number(about['lsn'] ?? about['_lsn']), at: number(about['crts'] ?? about['_ts']) };
}
