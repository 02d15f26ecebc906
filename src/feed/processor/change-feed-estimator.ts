import type { Container } from '@azure/cosmos';
import pMap from 'p-map';
import { type Clock, systemClock } from '../../base/clock.ts';
import { once } from '../../base/once.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import { ridOf } from '../../cosmos/rid.ts';
import { leasePrefix } from '../leases/cosmos-lease-store.ts';
import { readDocument } from '../leases/dialects/read.ts';
import { LeaseContainer } from '../leases/lease-container.ts';
import { readLeases } from '../leases/lease-listing.ts';
import type { Lease, LeaseStore } from '../leases/lease.ts';
import { Partitions } from '../leases/partitions.ts';
import { accountEndpoint } from '../reading/account.ts';
import type { FeedMode } from '../reading/source.ts';
import { gapsOf } from '../sharing/split.ts';
import { type Lag, LagEstimator } from './lag-estimator.ts';
import type { FeedStartOption } from './processor-options.ts';
import type { LeaseLag } from './telemetry.ts';

export interface ChangeFeedEstimatorOptions {
  readonly source: Container;
  readonly leases: Container | LeaseStore;
  /** The processor's name: .NET's `processorName`, the trigger's `leaseContainerPrefix` (empty without one), Java's `leasePrefix`. */
  readonly name: string;
  /** Where the hosts begin, which no lease says: with `beginning` a lease without a position has a lag. */
  readonly start?: FeedStartOption | undefined;
  /** Only for a `LeaseStore`; a lease document says which feed it belongs to. */
  readonly mode?: 'latest-version' | 'all-versions-and-deletes' | undefined;
  /** As in `ChangeFeedProcessorOptions`. */
  readonly accountEndpoint?: string | undefined;
  readonly clock?: Clock | undefined;
}

/** One lease, and how far it is behind. */
export interface EstimatedLease {
  readonly leaseToken: string;
  readonly range: FeedRange;
  /** The host that has it; null if it is free. */
  readonly instance: string | null;
  readonly position: string | undefined;
  readonly lag: Lag;
}

/** How far all leases of a name are behind together. */
export interface EstimatedLag {
  /** Transactions behind, summed over the leases whose lag is known; `Lag` says what is counted. */
  readonly changes: number;
  /** Age of the oldest change that is left, milliseconds. */
  readonly ageMs: number;
  /** True: every range has a lease, and every lease a known lag. Otherwise `changes` is only a part. */
  readonly complete: boolean;
  /** Request units of the reads of the feed. */
  readonly charge: number;
  readonly leases: readonly EstimatedLease[];
}

type ModedLease = Lease & { readonly mode: FeedMode };

/**
 * Estimates how far a processor is behind, from its leases and the feed alone: for processors of Millrace, .NET, Java and
 * the Functions trigger. It changes nothing. Asking costs a query of the lease container, and one read of one document for
 * each lease.
 */
export class ChangeFeedEstimator {
  readonly #options: ChangeFeedEstimatorOptions;
  readonly #identity = once(() => this.#identify());

  constructor(options: ChangeFeedEstimatorOptions) {
    this.#options = options;
  }

  /**
   * @throws UsageError `container-missing`, `lease-container-missing`, `lease-container-denied`, `lease-container-key`,
   *   `multi-region-writes`
   */
  async current(): Promise<EstimatedLag> {
    const { source: container, start, clock = systemClock } = this.#options;
    const { rid } = await this.#identity();
    const listed = await this.#list();
    const leases = await pMap(
      listed,
      async (lease): Promise<EstimatedLease> => {
        const { token: leaseToken, range, owner: instance, position, mode } = lease;
        const from = start === 'beginning' && mode === 'latest-version' ? { start } : {};
        const lag = await new LagEstimator({ container, rid, mode, clock, ...from }).lagOf(lease);
        return { leaseToken, range, instance, position, lag };
      },
      { concurrency: 8 },
    );
    const known = leases.flatMap(({ lag }) => (lag.known ? [lag] : []));
    return {
      changes: known.reduce((sum, { changes }) => sum + changes, 0),
      ageMs: known.reduce((most, { ageMs }) => Math.max(most, ageMs), 0),
      complete: leases.length > 0 && known.length === leases.length && gapsOf(listed).length === 0,
      charge: known.reduce((sum, { charge }) => sum + charge, 0),
      leases,
    };
  }

  /** The same for `startTelemetry({ lags: () => estimator.lags() })`. */
  async lags(): Promise<LeaseLag[]> {
    const { leases } = await this.current();
    const container = this.#options.source.id;
    return leases.map(({ leaseToken: lease, lag }) => ({ container, lease, lag }));
  }

  async #list(): Promise<ModedLease[]> {
    const { source, leases, mode } = this.#options;
    if (!('items' in leases)) {
      const of: FeedMode = mode === 'all-versions-and-deletes' ? 'all-versions' : 'latest-version';
      return (await leases.list()).map((lease) => ({ ...lease, mode: of }));
    }
    const container = await LeaseContainer.open(leases);
    const partitions = await Partitions.read(source);
    for (const prefix of (await this.#identity()).prefixes) {
      const start = `${prefix}..`;
      // Another processor's name may begin with this prefix and two dots.
      const documents = (await container.query(start)).filter(
        ({ id }) => !String(id).slice(start.length).includes('..'),
      );
      const found = MODES.flatMap((of) =>
        readLeases(documents.filter(isOf(of)), partitions, of).map(({ lease }) => ({ ...lease, mode: of })),
      );
      if (found.length > 0) return found;
    }
    return [];
  }

  /** `prefixes`: of .NET, Functions, Millrace and newer Java; then of Java's `handleChanges`, which has names for rids. */
  async #identify(): Promise<{ readonly rid: string; readonly prefixes: readonly string[] }> {
    const { source, name, accountEndpoint: given } = this.#options;
    const rid = await ridOf(source).catch(throwMissing(source));
    const endpoint = given ?? (await accountEndpoint(source));
    const { database } = source;
    return {
      rid,
      prefixes: [
        leasePrefix(name, endpoint, await ridOf(database), rid),
        leasePrefix(name, endpoint, database.id, source.id),
      ],
    };
  }
}

const MODES = ['latest-version', 'all-versions'] as const satisfies readonly FeedMode[];

const isOf =
  (mode: FeedMode) =>
  (document: unknown): boolean => {
    const reading = readDocument(document);
    return reading.kind === 'lease' && reading.mode === mode;
  };
