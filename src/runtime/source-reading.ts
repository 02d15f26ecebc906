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
  /** This host's name in the leases; stable, so that it goes on with them after a restart. */
  readonly host: string;
  /** Where a source without positions begins. Default: the beginning. */
  readonly start?: Start;
  readonly timings?: Partial<Timings>;
  /** Most documents a page. Default 1,000. */
  readonly pageSize?: number;
}

/** One source container's reading, for status and screens. */
export interface SourceStatus {
  readonly container: string;
  readonly mode: FeedMode;
  readonly leases: readonly LeaseStatus[];
  /** Ids of those that are derived from it. */
  readonly readers: readonly string[];
  /** Between two reads that find nothing. */
  readonly pollMs: number;
  /** Leases of all hosts together. */
  readonly known: number;
  /** Requests and RU of reading the feed. */
  readonly meter: Meter;
}

/** One source's feed, as this host reads it and as its leases are stored. */
export interface SourceReading {
  readonly processor: FeedHost;
  readonly leases: LeaseStore;
  readonly estimator: LagEstimator;
  readonly status: () => SourceStatus;
  /** How far the leases of this host are behind, asked anew at each call. */
  readonly lags: () => Promise<LeaseLag[]>;
}

/**
 * Effects are exactly once, so what a crash repeats costs reads alone; a busy lease then takes 2.2 RU/s, where one of
 * each page would take more than a small lease container has.
 */
export const CHECKPOINT_MS = 5_000;

/** Puts together how a live host reads one of the pipeline's sources; nothing is read before its processor is started. */
export async function openReading(
  options: ReadingOptions,
  map: SourceContainer,
  engine: Pick<Engine, 'handle'>,
): Promise<SourceReading> {
  const { services, loaded, host, pageSize } = options;
  const meter = new Meter();
  const feed = await openFeed(options, map, { host }, { state: services.state, meter, ...(pageSize && { pageSize }) });
  const { container, rid, mode, leases, source } = feed;
  // The all-versions feed has no beginning (A7).
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
      const { known, leases: held } = processor.status();
      return {
        container: map.name,
        mode,
        meter,
        known,
        readers: readers.map(projectionId),
        pollMs: timings.pollMs ?? DEFAULT_TIMINGS.pollMs,
        leases: held,
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
