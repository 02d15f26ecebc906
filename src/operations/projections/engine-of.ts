import { AzureBlobStore } from '../../archive/azure-blob-store.ts';
import { coldReader } from '../../archive/cold-reader.ts';
import type { Settings } from '../../base/settings.ts';
import type { EmbedSpec, ProjectionSpec } from '../../definition/specs.ts';
import { projectionId } from '../../definition/specs.ts';
import { DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import { letterBodies } from '../../engine/dead-letters/letter-bodies.ts';
import { Fingerprints } from '../../engine/fingerprints.ts';
import { Engine } from '../../engine/engine.ts';
import { runnersOf } from '../../engine/runners.ts';
import type { ColdRead } from '../../projections/archive/cold-read.ts';
import { EventHubSink } from '../../sinks/event-hub.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';

export interface EngineParts {
  readonly settings: Settings;
  readonly services: Services;
  readonly loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>;
  /** How old a read may be, milliseconds (A3). */
  readonly readLagMs: number;
}

export const coldReadOf = ({ settings, services }: Pick<EngineParts, 'settings' | 'services'>): ColdRead =>
  coldReader(async () => new AzureBlobStore(await services.blobs()), settings.stateContainer);

/** An engine that holds nothing back: with all runners of a pipeline, for redriving, or with those of one version alone. */
export function engineOf(parts: EngineParts, only?: ProjectionSpec | EmbedSpec): Engine {
  const { settings, services, loaded, readLagMs } = parts;
  const { stateContainer } = settings;
  const strict = new Fingerprints(services.state, loaded).isStrict;
  const options = { stateContainer, readLagMs, strict, cold: coldReadOf(parts) };
  // What takes effect outside must not even be opened while a version is built.
  const pipeline = only
    ? { ...loaded.pipeline, archives: [], publishes: [], effects: [], embeds: only.kind === 'embed' ? [only] : [] }
    : loaded.pipeline;
  const runners = runnersOf(pipeline, loaded.model, {
    ...options,
    hub: (hub) => new EventHubSink(hub, (instead) => services.hubs.producer(hub, instead)),
  });
  return new Engine({
    database: services.database,
    runners: only ? runners.filter(({ id }) => id === projectionId(only)) : runners,
    deadLetters: new DeadLetters(services.state, letterBodies(services)),
  });
}
