import { mapSettled } from '../../base/map-settled.ts';
import type { Pipeline } from '../../pipeline/specs.ts';
import { targetOf } from '../../ingest/take.ts';
import type { DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import type { Engine } from '../../engine/engine.ts';
import { sourceContainers } from '../../engine/runners.ts';
import { Ingestor } from '../../ingest/ingestor.ts';
import { type EngineParts, type OpenEngine, type SharedState, openEngine } from '../open-engine.ts';
import { ingestSink } from './ingest-sink.ts';
import { ResumeLoop } from './resume-loop.ts';
import { type ReadingOptions, type SourceReading, openReading } from '../source-reading.ts';
import type { Place } from '../workspace.ts';

export type PlaceHostOptions = ReadingOptions & Omit<EngineParts, 'settings'>;

/** A place that a process works on, for its figures. */
export interface WorkedOn {
  /** Name of the shard. Absent: the place of the settings. */
  readonly shard?: string | undefined;
  /** The part of the pipeline that runs there. */
  readonly pipeline: Pipeline;
  readonly place: Place;
}

/** What a process runs in one place. */
export interface PlaceHost extends WorkedOn {
  readonly engine: Engine;
  readonly deadLetters: DeadLetters;
  /** For the engines of other places in this process. */
  readonly shared: SharedState;
  readonly readings: readonly SourceReading[];
  readonly ingestors: readonly Ingestor[];
  readonly resuming: ResumeLoop;
  /** Rejects when a handler halts the reading of a source. Never resolves. */
  readonly halted: Promise<never>;
  /** Rejects with a UsageError when leases or containers can't be used. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Feeds that start at a time. */
const AT_ONCE = { concurrency: 16 };

/** Builds the host of a pipeline, or of a part, in the place of the services. Nothing runs before `start`. */
export async function openPlaceHost(options: PlaceHostOptions): Promise<PlaceHost> {
  const { services, loaded } = options;
  const opened = openEngine(options, 'live');
  const { engine, deadLetters, starts } = opened;
  const maps = [...sourceContainers(loaded.pipeline, loaded.model).values()];
  const readings = await Promise.all(maps.map((map) => openReading(options, map, opened)));
  const processors = readings.map(({ processor }) => processor);
  const ingestors = ingestorsOf(options, opened);
  const resuming = new ResumeLoop(engine);
  // Without sources nothing can halt it.
  const halted = Promise.race([...processors.map((of) => of.halted), new Promise<never>(() => undefined)]);
  halted.catch(() => undefined);
  return {
    shard: options.shard,
    pipeline: loaded.pipeline,
    place: services.place,
    engine,
    deadLetters,
    shared: opened,
    readings,
    ingestors,
    resuming,
    halted,
    start: async () => {
      for (const hub of new Set(loaded.pipeline.publishes.map(({ to }) => to))) await services.hubs.check(hub);
      // Ingestors start first: they check their hubs and consumer groups, and nothing should run if one is missing.
      for (const ingestor of ingestors) await ingestor.start();
      // Before the first page: what is written from now on comes after the start of a projection that begins now.
      await starts.recorded();
      try {
        await mapSettled(processors, (processor) => processor.start(), AT_ONCE);
      } catch (error) {
        // A process that can't read one feed reads none.
        await Promise.all(processors.map((processor) => processor.stop()));
        throw error;
      }
      resuming.start();
    },
    stop: async () => {
      await Promise.all([resuming, ...ingestors, ...processors].map((part) => part.stop()));
    },
  };
}

function ingestorsOf(options: PlaceHostOptions, opened: OpenEngine): Ingestor[] {
  const { services, loaded, host } = options;
  return loaded.pipeline.ingests.map((spec) => {
    const target = targetOf(spec, loaded.pipeline, loaded.model);
    return new Ingestor({
      spec,
      target,
      hubs: services.hubs,
      sink: ingestSink(options, spec, target),
      deadLetters: opened.deadLetters,
      control: opened.control,
      erasures: opened.erasures,
      host,
    });
  });
}
