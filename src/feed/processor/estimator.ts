import { ChangeFeedMode, ChangeFeedStartFrom, type Container } from '@azure/cosmos';
import { type Clock, systemClock } from '../../base/clock.ts';
import { isObject } from '../../base/json.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { type FeedRange, rangeId } from '../../cosmos/ranges.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { Partitions } from '../leases/partitions.ts';
import { intersection, lsnOf } from '../reading/position.ts';
import { type SharedHistory, countOwn } from '../leases/shared-history.ts';
import type { FeedMode } from '../reading/source.ts';

/** How far a lease is behind its feed. What can't be told is told so, never as a number. */
export type Lag =
  | {
      readonly known: true;
      /**
       * Transactions behind the position: lsns are counted, some of them may be of deletions, of versions that were
       * overwritten since, or, for a part of a physical partition, of its other parts. The parts of a split one share the
       * lsns of before: each counts its share of them, as `shared` of its lease says, so that the sum over the leases is
       * that of before. One part alone may have more or less of them. Without `shared`, as where another kind of host split
       * the lease or none has yet, each part counts them all. 0 is exact, and so is the age.
       */
      readonly changes: number;
      /** Since the oldest change that is left was written, milliseconds; 0 where none is. */
      readonly ageMs: number;
      /** Request units that asking took. */
      readonly charge: number;
    }
  | { readonly known: false; readonly why: string };

export interface EstimatorOptions {
  readonly container: Container;
  /** The container's `_rid`. */
  readonly rid: string;
  readonly mode?: FeedMode;
  /** Where a lease without a position begins, where that is known: what its host is told, which no lease says. */
  readonly start?: 'beginning';
  readonly clock?: Clock;
}

/** What of a lease tells how far it is behind. */
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

/** Compares positions with the feed, by one read of one document a physical partition; changes nothing. */
export class LagEstimator {
  readonly #options: EstimatorOptions;

  constructor(options: EstimatorOptions) {
    this.#options = options;
  }

  async lagOf(lease: LaggingLease): Promise<Lag> {
    const from = lease.position ?? (this.#options.start === 'beginning' ? '' : undefined);
    if (from === undefined) return unknown('nothing was checkpointed yet, and where it begins only its host knows');
    if (from !== '' && !Number.isSafeInteger(lsnOf(from))) return unknown(`its position ${from} is no number`);
    try {
      // A split between the two looks makes one of them miss; the second sees what it made.
      return (await this.#look(lease, from)) ?? (await this.#look(lease, from)) ?? unknown(MOVING);
    } catch (error) {
      const { kind, message } = failureOf(error);
      if (kind === 'not-found') return unknown(`there is no container ${this.#options.container.id} any more`);
      return unknown(`the feed of ${this.#options.container.id} can't be read: ${message.split('\n')[0] ?? ''}`);
    }
  }

  /** Undefined where the partitions changed meanwhile. */
  async #look({ range, shared }: LaggingLease, from: string): Promise<Lag | undefined> {
    const physical = await Partitions.read(this.#options.container);
    const slices = physical.ranges.map((of) => intersection(of, range)).filter((slice) => slice !== undefined);
    if (slices.length === 0) return unknown(`the container has no range ${rangeId(range)}`);
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

  /** The first change after a position in one physical partition or a part of it; text: why that can't be told. */
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

/** Of an entry of either feed; `at` in seconds. */
function stampOf(raw: unknown): { lsn: number | undefined; at: number | undefined } {
  if (!isObject(raw)) return { lsn: undefined, at: undefined };
  const about = isObject(raw['metadata']) ? raw['metadata'] : raw;
  const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
  return { lsn: number(about['lsn'] ?? about['_lsn']), at: number(about['crts'] ?? about['_ts']) };
}
