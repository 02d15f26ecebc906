import { setTimeout as delay } from 'node:timers/promises';
import { abortReason } from '../base/errors.ts';
import type { DeadLetters } from '../engine/dead-letters/dead-letters.ts';
import type { Engine, ProjectionStats } from '../engine/engine.ts';
import { sourceContainers } from '../engine/runners.ts';
import type { TenantReport } from '../engine/tenant-work.ts';
import { targetOf } from '../ingest/take.ts';
import type { LeaseLag } from '../feed/processor/telemetry.ts';
import { DEFAULT_TIMINGS } from '../feed/sharing/feed-host.ts';
import { processorStopped } from '../feed/sharing/processor-stopped.ts';
import { Ingestor } from '../ingest/ingestor.ts';
import { untilDrained } from './drained.ts';
import { type EngineParts, type OpenEngine, openEngine } from './open-engine.ts';
import { ResumeLoop } from './resume-loop.ts';
import { type ReadingOptions, type SourceStatus, openReading } from './source-reading.ts';

export type ComposeOptions = ReadingOptions & Omit<EngineParts, 'settings'>;

export interface App {
  readonly engine: Engine;
  readonly deadLetters: DeadLetters;
  /** Rejects with a UsageError when leases or containers can't be used. */
  start(): Promise<void>;
  /** Finishes the running work, writes checkpoints, and offers the leases to other hosts. */
  stop(): Promise<void>;
  /**
   * Resolves once all events of the hubs are taken, and all sources, derived ones included, were read to their end. For
   * ranges of other hosts, and free ones, the stored positions count. Deferred work of other hosts counts only as far as
   * this host knows about it.
   * @throws UsageError `processor-stopped` once this host is stopped; MillraceError `handler-halted`
   */
  drained(signal: AbortSignal): Promise<void>;
  stats(): readonly ProjectionStats[];
  /** What the costliest tenants took on this host. */
  tenants(): TenantReport;
  sources(): readonly SourceStatus[];
  /** How far the leases of this host are behind. Each call asks the service. */
  lags(): Promise<readonly LeaseLag[]>;
}

const INGEST_POLL_MS = 100;

/** Builds the host of a pipeline on the services of a workspace. Nothing runs before `start`. */
export async function compose(options: ComposeOptions): Promise<App> {
  const { services, loaded } = options;
  const opened = openEngine(options, 'live');
  const { engine, deadLetters, starts } = opened;
  const maps = [...sourceContainers(loaded.pipeline, loaded.model).values()];
  const readings = await Promise.all(maps.map((map) => openReading(options, map, opened)));
  const processors = readings.map(({ processor }) => processor);
  const ingestors = ingestorsOf(options, opened);
  const resuming = new ResumeLoop(engine);
  /** Aborted once this host reads no more, with the reason. */
  const over = new AbortController();
  for (const { halted } of processors) halted.catch((error: unknown) => over.abort(error));

  return {
    engine,
    deadLetters,
    sources: () => readings.map(({ status }) => status()),
    lags: async () => (await Promise.all(readings.map(({ lags }) => lags()))).flat(),
    stats: () => [...ingestors.map(({ stats }) => stats), ...engine.stats],
    tenants: () => engine.tenants(),
    start: async () => {
      for (const hub of new Set(loaded.pipeline.publishes.map(({ to }) => to))) await services.hubs.check(hub);
      // Ingestors start first: they check their hubs and consumer groups, and nothing should run if one is missing.
      for (const ingestor of ingestors) await ingestor.start();
      // Before the first page: what is written from now on comes after the start of a projection that begins now.
      await starts.recorded();
      for (const processor of processors) await processor.start();
      resuming.start();
    },
    stop: async () => {
      over.abort(processorStopped('can’t read its feeds to their end'));
      await Promise.all([resuming, ...ingestors, ...processors].map((part) => part.stop()));
    },
    drained: async (given) => {
      const signal = AbortSignal.any([given, over.signal]);
      try {
        for (const ingestor of ingestors)
          while (!(await ingestor.caughtUp())) await delay(INGEST_POLL_MS, undefined, { signal });
        const { pollMs } = { ...DEFAULT_TIMINGS, ...options.timings };
        await untilDrained(readings, { idle: (until) => resuming.idle(until), pollMs, signal });
      } catch (error) {
        if (!over.signal.aborted) throw error;
      }
      // A stopped host no longer knows how far the feeds are read.
      if (over.signal.aborted) throw abortReason(over.signal);
    },
  };
}

const ingestorsOf = ({ services, loaded, host }: ComposeOptions, opened: OpenEngine): Ingestor[] =>
  loaded.pipeline.ingests.map(
    (spec) =>
      new Ingestor({
        spec,
        target: targetOf(spec, loaded.pipeline, loaded.model),
        hubs: services.hubs,
        database: services.place.database,
        deadLetters: opened.deadLetters,
        control: opened.control,
        erasures: opened.erasures,
        host,
      }),
  );
