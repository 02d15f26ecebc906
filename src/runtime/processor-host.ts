import { setTimeout as delay } from 'node:timers/promises';
import { abortReason } from '../base/errors.ts';
import type { DeadLetters } from '../engine/dead-letters/dead-letters.ts';
import type { Engine, ProjectionStats } from '../engine/engine.ts';
import { sinkContainer, sourceContainers } from '../engine/runners.ts';
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
  /** How far the leases of this host are behind, asked anew at each call. */
  lags(): Promise<readonly LeaseLag[]>;
}

const INGEST_POLL_MS = 100;

/** Puts a pipeline together on the services of a workspace. Nothing runs before `start`. */
export async function compose(options: ComposeOptions): Promise<App> {
  const { services, loaded } = options;
  const opened = openEngine(options, 'live');
  const { engine, deadLetters } = opened;
  const maps = [...sourceContainers(loaded.pipeline, loaded.model).values()];
  const readings = await Promise.all(maps.map((map) => openReading(options, map, engine)));
  const processors = readings.map(({ processor }) => processor);
  const ingestors = ingestorsOf(options, opened);
  const resuming = new ResumeLoop(engine);
  /** Aborted with the reason why nothing is read here any more. */
  const over = new AbortController();
  for (const { halted } of processors) halted.catch((error: unknown) => over.abort(error));

  return {
    engine,
    deadLetters,
    sources: () => readings.map(({ status }) => status()),
    lags: async () => (await Promise.all(readings.map(({ lags }) => lags()))).flat(),
    stats: () => [...ingestors.map(({ stats }) => stats), ...engine.stats],
    start: async () => {
      for (const hub of new Set(loaded.pipeline.publishes.map(({ to }) => to))) await services.hubs.check(hub);
      // They ask for their hubs and consumer groups, and nothing should run where one isn't there.
      for (const ingestor of ingestors) await ingestor.start();
      for (const processor of processors) await processor.start();
      resuming.start();
    },
    stop: async () => {
      over.abort(processorStopped('reads nothing to its end'));
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
      // A host that stopped doesn't know any more how far the feeds are read.
      if (over.signal.aborted) throw abortReason(over.signal);
    },
  };
}

const ingestorsOf = ({ services, loaded, host }: ComposeOptions, opened: OpenEngine): Ingestor[] =>
  loaded.pipeline.ingests.map(
    (spec) =>
      new Ingestor({
        spec,
        target: sinkContainer(spec.into.container, loaded.model),
        hubs: services.hubs,
        database: services.database,
        deadLetters: opened.deadLetters,
        control: opened.control,
        host,
      }),
  );
