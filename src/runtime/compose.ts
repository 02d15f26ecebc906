import { setTimeout as delay } from 'node:timers/promises';
import { UsageError, abortReason } from '../base/errors.ts';
import { failureOf } from '../cosmos/failure.ts';
import { withRetry } from '../cosmos/retry.ts';
import { Meter } from '../cosmos/meter.ts';
import { readsFrom } from '../cosmos/spending.ts';
import type { DeadLetters } from '../engine/dead-letters/dead-letters.ts';
import type { Engine, ProjectionStats } from '../engine/engine.ts';
import { sinkContainer, sourceContainers } from '../engine/runners.ts';
import { CosmosLeaseStore, leasePrefix } from '../feed/leases/cosmos-lease-store.ts';
import { LagEstimator } from '../feed/processor/estimator.ts';
import { confirmedEpoch, currentEpoch, raiseEpoch } from '../feed/reading/epochs.ts';
import { projectionId } from '../definition/specs.ts';
import { feedReaders, sourcesOf } from '../definition/pipeline.ts';
import { DEFAULT_TIMINGS, FeedHost, type LeaseStatus, type Timings } from '../feed/sharing/feed-host.ts';
import { CosmosChangeSource, type FeedMode, type Start } from '../feed/reading/source.ts';
import { Ingestor } from '../ingest/ingestor.ts';
import { processorName } from './processor-name.ts';
import { type DerivationOptions, derivation } from './derivation.ts';
import { untilDrained } from './drained.ts';
import { GoingOn } from './resume-loop.ts';

export interface ComposeOptions extends DerivationOptions {
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

export interface App {
  readonly engine: Engine;
  readonly deadLetters: DeadLetters;
  /** Rejects with a UsageError when leases or containers can't be used. */
  start(): Promise<void>;
  /** Finishes what is in hand, writes checkpoints, offers the leases. */
  stop(): Promise<void>;
  /**
   * Resolves once all that event hubs held is taken, and all sources, derived ones included, were read to their end,
   * whichever hosts have their ranges: those of others, and free ones, by their stored positions. What another host has
   * left to do after its pages counts as far as this one knows of it.
   * @throws UsageError `processor-stopped` once this host is stopped; MillraceError `handler-halted`
   */
  drained(signal: AbortSignal): Promise<void>;
  stats(): readonly ProjectionStats[];
  sources(): readonly SourceStatus[];
}

/**
 * Effects are exactly once, so what a crash repeats costs reads alone; a busy lease then takes 2.2 RU/s, where one of
 * each page would take more than a small lease container has.
 */
export const CHECKPOINT_MS = 5_000;

const INGEST_POLL_MS = 100;

/** Puts a pipeline together on the services of a workspace. Nothing runs before `start`. */
export async function compose(options: ComposeOptions): Promise<App> {
  const { services, loaded, settings } = options;
  const { database, state, leases } = services;
  const { engine, control, deadLetters, budget } = derivation(options);
  const databaseRid = (await withRetry(() => database.read(), { reads: true })).resource?._rid ?? '';

  const readers = feedReaders(loaded.pipeline);
  const processors = await Promise.all(
    [...sourceContainers(loaded.pipeline, loaded.model).values()].map(async (source) => {
      const container = database.container(source.name);
      const { resource } = await withRetry(() => container.read(), { reads: true }).catch((error: unknown) => {
        if (failureOf(error).kind !== 'not-found') throw error;
        const why = `Container ${source.name} does not exist in database ${settings.database}`;
        const mend = 'Create the containers of the model with `millrace model apply`.';
        throw new UsageError('source-missing', why, { cause: error, mend });
      });
      const rid = resource?._rid ?? '';
      const epoch = await currentEpoch(state, source.name, rid);
      const mode: FeedMode = source.feed === 'all-versions' ? 'all-versions' : 'latest-version';
      const meter = new Meter();
      const timings = { checkpointMs: CHECKPOINT_MS, ...options.timings };
      const pageSize = options.pageSize ?? 1_000;
      const store = new CosmosLeaseStore({
        monitored: container,
        leases,
        host: options.host,
        prefix: leasePrefix(processorName(loaded.pipeline), settings.cosmos.endpoint, databaseRid, rid),
        mode,
      });
      // The all-versions feed has no beginning (A7).
      const start = mode === 'all-versions' ? 'now' : (options.start ?? 'beginning');
      const lags = new LagEstimator({ container, rid, mode, ...(start === 'beginning' && { start }) });
      const processor = new FeedHost({
        container: source.name,
        host: options.host,
        source: new CosmosChangeSource(container, rid, source, {
          mode,
          epoch,
          latestEpoch: (known) => confirmedEpoch(state, source.name, rid, known),
          meter,
          pageSize,
          onBehind: async (known) => void (await raiseEpoch(state, source.name, rid, known)),
        }),
        leases: store,
        mode,
        start,
        handle: engine.handle,
        budget: budget && readsFrom(budget, source.name),
        timings,
      });
      const status = (): SourceStatus => {
        const { known, leases: ours } = processor.status();
        return {
          container: source.name,
          mode,
          meter,
          known,
          readers: readers.flatMap((spec) =>
            sourcesOf(spec).some(({ container: read }) => read === source.name) ? projectionId(spec) : [],
          ),
          pollMs: timings.pollMs ?? DEFAULT_TIMINGS.pollMs,
          leases: ours,
        };
      };
      return { processor, status, leases: store, lags };
    }),
  );

  const { ingests, publishes } = loaded.pipeline;
  const ingestors = ingests.map(
    (spec) =>
      new Ingestor({
        spec,
        target: sinkContainer(spec.into.container, loaded.model),
        hubs: services.hubs,
        database,
        deadLetters,
        control,
        host: options.host,
      }),
  );

  const sources = (): SourceStatus[] => processors.map(({ status }) => status());

  const goingOn = new GoingOn(engine);
  /** Aborted with the reason why nothing is read here any more. */
  const over = new AbortController();
  for (const { processor } of processors) processor.halted.catch((error: unknown) => over.abort(error));

  return {
    engine,
    deadLetters,
    sources,
    stats: () => [...ingestors.map(({ stats }) => stats), ...engine.stats],
    start: async () => {
      for (const hub of new Set(publishes.map(({ to }) => to))) await services.hubs.check(hub);
      // They ask for their hubs and consumer groups, and nothing should run where one isn't there.
      for (const ingestor of ingestors) await ingestor.start();
      for (const { processor } of processors) await processor.start();
      goingOn.start();
    },
    stop: async () => {
      over.abort(stopped());
      await Promise.all(
        [goingOn, ...ingestors, ...processors.map(({ processor }) => processor)].map((part) => part.stop()),
      );
    },
    drained: async (given) => {
      const signal = AbortSignal.any([given, over.signal]);
      try {
        for (const ingestor of ingestors)
          while (!(await ingestor.caughtUp())) await delay(INGEST_POLL_MS, undefined, { signal });
        const { pollMs } = { ...DEFAULT_TIMINGS, ...options.timings };
        await untilDrained(processors, { idle: (until) => goingOn.idle(until), pollMs, signal });
      } catch (error) {
        if (!over.signal.aborted) throw error;
      }
      // A host that stopped doesn't know any more how far the feeds are read.
      if (over.signal.aborted) throw abortReason(over.signal);
    },
  };
}

const stopped = (): UsageError =>
  new UsageError('processor-stopped', 'A host that was stopped reads nothing to its end', {
    mend: 'Start another: it goes on with the leases of its pipeline.',
  });
