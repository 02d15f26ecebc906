import { Meter } from '../cosmos/meter.ts';
import { spendingOf } from '../cosmos/spending.ts';
import { projectionId } from '../definition/specs.ts';
import { feedReaders, sourcesOf } from '../definition/pipeline.ts';
import type { Engine } from '../engine/engine.ts';
import type { LeaseStore } from '../feed/leases/lease.ts';
import { LagEstimator } from '../feed/processor/estimator.ts';
import type { LeaseLag } from '../feed/processor/telemetry.ts';
import type { SourceContainer } from '../feed/reading/mapper.ts';
import type { FeedMode, Start } from '../feed/reading/source.ts';
import { DEFAULT_TIMINGS, FeedHost, type LeaseStatus, type Timings } from '../feed/sharing/feed-host.ts';
import { type Parts, openFeed } from './open-feed.ts';

export interface ReadingOptions extends Parts {
  /** This host's name in the leases. With a stable name it continues with its leases after a restart. */
  readonly host: string;
  /** Where to start a source without positions. Default: at the beginning. */
  readonly start?: Start;
  readonly timings?: Partial<Timings>;
  /** The most documents of a page. Default 1,000. */
  readonly pageSize?: number;
}

/** The state of reading one source container, for status and screens. */
export interface SourceStatus {
  readonly container: string;
  readonly mode: FeedMode;
  readonly leases: readonly LeaseStatus[];
  /** Ids of the projections that read it. */
  readonly readers: readonly string[];
  /** Pause after a read that finds nothing, milliseconds. */
  readonly pollMs: number;
  /** Number of leases of all hosts together. */
  readonly known: number;
  /** Requests and RU of reading the feed. */
  readonly meter: Meter;
}

/** One source's feed, with its reader in this host and its stored leases. */
export interface SourceReading {
  readonly processor: FeedHost;
  readonly leases: LeaseStore;
  readonly estimator: LagEstimator;
  readonly status: () => SourceStatus;
  /** How far the leases of this host are behind. Each call asks the service. */
  readonly lags: () => Promise<LeaseLag[]>;
}

/**
 * Pause between checkpoints. Effects are exactly-once, so a crash repeats only reads. A busy lease then takes 2.2 RU/s; a
 * checkpoint after each page would take more than a small lease container has.
 */
export const CHECKPOINT_MS = 5_000;

/** Prepares a live host's reading of one source. It reads nothing before its processor is started. */
export async function openReading(
  options: ReadingOptions,
  map: SourceContainer,
  engine: Pick<Engine, 'handle'>,
): Promise<SourceReading> {
  const { services, loaded, host, pageSize } = options;
  const meter = new Meter();
  const feed = await openFeed(options, map, { host }, { state: services.state, meter, ...(pageSize && { pageSize }) });
  const { container, rid, mode, leases, source } = feed;
  // The all-versions feed has no beginning (ASM-A7).
  const start = mode === 'all-versions' ? 'now' : (options.start ?? 'beginning');
  const timings = { checkpointMs: CHECKPOINT_MS, ...options.timings };
  const processor = new FeedHost({
    container: map.name,
    host,
    source,
    leases,
    mode,
    start,
    handle: engine.handle,
    budget: spendingOf(services.database, 'live')?.reading(map.name),
    timings,
  });
  const readers = feedReaders(loaded.pipeline).filter((spec) =>
    sourcesOf(spec).some(({ container: read }) => read === map.name),
  );
  const estimator = new LagEstimator({ container, rid, mode, ...(start === 'beginning' && { start }) });
  return {
    processor,
    leases,
    estimator,
    status: () => {
      const { known, leases: own } = processor.status();
      return {
        container: map.name,
        mode,
        meter,
        known,
        readers: readers.map(projectionId),
        pollMs: timings.pollMs ?? DEFAULT_TIMINGS.pollMs,
        leases: own,
      };
    },
    lags: () =>
      Promise.all(
        processor.status().leases.map(async (lease) => ({
          container: map.name,
          lease: lease.id.slice(lease.id.lastIndexOf('..') + 2),
          lag: await estimator.lagOf(lease),
        })),
      ),
  };
}
