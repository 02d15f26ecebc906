import { Meter } from '../cosmos/budget/charge-meter.ts';
import { spendingOf } from '../cosmos/budget/meter.ts';
import { projectionId } from '../pipeline/specs.ts';
import { feedReaders, sourcesOf } from '../pipeline/pipeline.ts';
import { tenantFollowsFromKey, tenantRuleOf } from '../pipeline/tenant.ts';
import { type Registered, registeredOf } from '../engine/deferred/registered.ts';
import { openDeferred } from '../engine/open-deferred.ts';
import type { LeaseStore } from '../feed/leases/lease.ts';
import { LagEstimator } from '../feed/processor/lag-estimator.ts';
import type { LeaseLag } from '../feed/processor/telemetry.ts';
import { type SourceContainer, tenantOfKey } from '../feed/reading/mapper.ts';
import type { FeedMode, Start } from '../feed/reading/source.ts';
import { DEFAULT_TIMINGS, FeedHost, type LeaseStatus, type Timings } from '../feed/sharing/feed-host.ts';
import { containerOf } from '../model/model.ts';
import { type OpenEngine, READ_LAG_MS } from './open-engine.ts';
import { type Parts, openFeed } from './open-feed.ts';
import { placeDatabase } from './place-containers.ts';

export interface ReadingOptions extends Parts {
  /** This host's name in the leases. With a stable name it continues with its leases after a restart. */
  readonly host: string;
  /** Name of the shard, for status and messages. Absent: the pipeline has one place, or this is the global place. */
  readonly shard?: string | undefined;
  /** Where to start a source without positions. Default: at the beginning. */
  readonly start?: Start;
  readonly timings?: Partial<Timings>;
  /** The most documents of a page. Default 1,000. */
  readonly pageSize?: number;
  /** The most changes of a range that are read and not applied, without the last page. Default 10,000. */
  readonly mostUnacknowledged?: number;
  /** How old a read may be, milliseconds (ASM-A3). Default 5,000. */
  readonly readLagMs?: number | undefined;
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
  /** Why the leases can't be shared; undefined: they can. Each lease has its own. */
  readonly failure?: unknown;
  /** Number of leases of all hosts together. */
  readonly known: number;
  /** The leases that this host could not give back. */
  readonly kept: readonly string[];
  /** Requests and RU of reading the feed. */
  readonly meter: Meter;
}

/** One source's feed, with its reader in this host and its stored leases. */
export interface SourceReading {
  /** The container's. */
  readonly name: string;
  readonly processor: FeedHost;
  readonly leases: LeaseStore;
  readonly estimator: LagEstimator;
  /** What hosts have deferred of it. */
  readonly deferred: Registered;
  readonly status: () => SourceStatus;
  /** How far the leases of this host are behind. Each call asks the service. */
  readonly lags: () => Promise<LeaseLag[]>;
}

/**
 * Pause between checkpoints. Effects are exactly-once, so a crash repeats only reads. A busy lease then takes 2.2 RU/s; a
 * checkpoint after each page would take more than a small lease container has.
 */
export const CHECKPOINT_MS = 5_000;

/**
 * Of tenants with turns. Pages of a range that wait take about 4 MB each (ASM-E23), and each page has to be applied within
 * the write bound. With two of them a host has work while it reads the next one.
 */
const MOST_PAGES = 3;

/** Pages are joined up to about 6 MB, of which as much may wait: as much memory as three pages take. */
const JOINED_CHARGE = 6_000;

/** Tenants with less than this part of a page go together. So a page has few parts, and costs little more than as a whole. */
const FEW = 1 / 16;

/** Prepares a live host's reading of one source. It reads nothing before its processor is started. */
export async function openReading(
  options: ReadingOptions,
  map: SourceContainer,
  { engine, cold }: Pick<OpenEngine, 'engine' | 'cold'>,
): Promise<SourceReading> {
  const { services, loaded, host, pageSize, mostUnacknowledged, readLagMs = READ_LAG_MS } = options;
  const { state } = services.place;
  const database = placeDatabase(loaded.pipeline, services);
  const meter = new Meter();
  const feed = await openFeed(options, map, { host }, { epochs: true, meter, ...(pageSize && { pageSize }) });
  const { rid, mode, leases, source, hashOf } = feed;
  // The all-versions feed has no beginning (ASM-A7).
  const start = mode === 'all-versions' ? 'now' : (options.start ?? 'beginning');
  const timings = { checkpointMs: CHECKPOINT_MS, ...options.timings };
  const deferred = { pipeline: loaded.pipeline.name, source: map.name };
  const container = options.shard === undefined ? map.name : `${options.shard}/${map.name}`;
  const inTurns = hasTurns(loaded, map.name);
  const processor = new FeedHost({
    container,
    host,
    source,
    leases,
    mode,
    start,
    handle: engine.handle,
    budget: spendingOf(database, 'live')?.reading(map.name),
    timings,
    mostUnacknowledged,
    joinedCharge: JOINED_CHARGE,
    // By the key, so that all changes of a document are in order, also those that state no tenant themselves.
    ...(inTurns && { order: ({ key }) => tenantOfKey(map, key) ?? '', together: FEW, mostPages: MOST_PAGES }),
    // Of all versions nothing is deferred: a source gives back only its newest one.
    ...(mode === 'latest-version' && {
      deferred: openDeferred({
        ...deferred,
        database,
        state,
        hashOf,
        engine,
        meter,
        sources: new Map([[map.name, map]]),
        cold,
        readLagMs,
        drainsOnly: !inTurns,
      }),
    }),
  });
  const readers = feedReaders(loaded.pipeline).filter((spec) =>
    sourcesOf(spec).some(({ container: read }) => read === map.name),
  );
  const estimator = new LagEstimator({ container: feed.container, rid, mode, ...(start === 'beginning' && { start }) });
  return {
    name: map.name,
    processor,
    leases,
    estimator,
    deferred: registeredOf(state, deferred, new AbortController().signal),
    status: () => {
      const { known, kept, leases: own, failure } = processor.status();
      return {
        container,
        mode,
        meter,
        known,
        kept,
        failure,
        readers: readers.map(projectionId),
        pollMs: timings.pollMs ?? DEFAULT_TIMINGS.pollMs,
        leases: own,
      };
    },
    lags: () =>
      Promise.all(
        processor.status().leases.map(async (lease) => ({
          container,
          lease: lease.id.slice(lease.id.lastIndexOf('..') + 2),
          lag: await estimator.lagOf(lease),
        })),
      ),
  };
}

/** Whether tenants have their turns: the documents belong to tenants, and one key has one tenant. */
function hasTurns({ pipeline, model }: Parts['loaded'], name: string): boolean {
  const rule = tenantRuleOf(pipeline, model, name);
  const container = containerOf(model, name);
  return rule !== undefined && container !== undefined && tenantFollowsFromKey(container, rule);
}
