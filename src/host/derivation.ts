import type { Settings } from '../base/settings.ts';
import { coldReader } from '../archive/cold-reader.ts';
import { AzureBlobStore } from '../archive/azure-blob-store.ts';
import { DeadLetters } from '../engine/dead-letters.ts';
import { Engine } from '../engine/engine.ts';
import { runnersOf } from '../engine/runners.ts';
import type { LoadedPipeline, Services } from '../operations/workspace.ts';
import { EventHubSink } from '../sinks/event-hub.ts';

export interface DerivationOptions {
  readonly settings: Settings;
  readonly services: Services;
  readonly loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>;
  /** How old a read may be, milliseconds (A3). Default 5,000. */
  readonly readLagMs?: number;
}

export interface Derivation {
  readonly engine: Engine;
  readonly deadLetters: DeadLetters;
}

/** The engine of a pipeline with its runners: the same whether our processor or the Functions host reads the feeds. */
export function derivation({ settings, services, loaded, readLagMs = 5_000 }: DerivationOptions): Derivation {
  const { stateContainer } = settings;
  const cold = coldReader(async () => new AzureBlobStore(await services.blobs()), stateContainer);
  const runners = runnersOf(loaded.pipeline, loaded.model, {
    stateContainer,
    readLagMs,
    cold,
    hub: (hub) => new EventHubSink(hub, () => services.hubs.producer(hub)),
  });
  const deadLetters = new DeadLetters(services.state);
  return { engine: new Engine({ database: services.database, runners, deadLetters }), deadLetters };
}
