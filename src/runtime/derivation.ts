import type { Settings } from '../base/settings.ts';
import { Budget } from '../cosmos/budget.ts';
import { Spending } from '../cosmos/spending.ts';
import { coldReader } from '../archive/cold-reader.ts';
import { AzureBlobStore } from '../archive/azure-blob-store.ts';
import { DeadLetters } from '../engine/dead-letters/dead-letters.ts';
import { letterBodies } from '../engine/dead-letters/letter-bodies.ts';
import { Engine } from '../engine/engine.ts';
import { Fingerprints } from '../engine/fingerprints.ts';
import { ViewControl } from '../engine/views/view-control.ts';
import { Views } from '../engine/views/views.ts';
import { runnersOf } from '../engine/runners.ts';
import type { Runner } from '../projections/runner.ts';
import { retriedByJob } from './react-retries.ts';
import { jobQueue } from './open-workspace.ts';
import type { LoadedPipeline, Services } from './workspace.ts';
import { EventHubSink } from '../sinks/event-hub.ts';

export interface DerivationOptions {
  readonly settings: Settings;
  readonly services: Services;
  readonly loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>;
  /** How old a read may be, milliseconds (A3). Default 5,000. */
  readonly readLagMs?: number;
  /** How old what a host knows of the views may be, milliseconds. Default 2,000. */
  readonly viewsRefreshMs?: number;
  /** What stands in for a runner, for who has to keep it from working. */
  readonly adapt?: (runner: Runner) => Runner;
}

export interface Derivation {
  readonly engine: Engine;
  readonly control: ViewControl;
  readonly deadLetters: DeadLetters;
  /** What this process may spend, where that is limited: the feeds are read from it too. */
  readonly budget: Budget | undefined;
}

/** The engine of a pipeline with its runners: the same whether our processor or the Functions host reads the feeds. */
export function derivation({
  settings,
  services,
  loaded,
  readLagMs = 5_000,
  viewsRefreshMs,
  adapt,
}: DerivationOptions): Derivation {
  const { stateContainer } = settings;
  const cold = coldReader(async () => new AzureBlobStore(await services.blobs()), stateContainer);
  const fingerprints = new Fingerprints(services.state, loaded);
  const declared = runnersOf(loaded.pipeline, loaded.model, {
    stateContainer,
    readLagMs,
    cold,
    strict: fingerprints.isStrict,
    hub: (hub) => new EventHubSink(hub, (instead) => services.hubs.producer(hub, instead)),
  });
  const { jobsUrl } = settings;
  const reactions = new Set<string>(
    loaded.pipeline.effects.filter(({ kind }) => kind === 'react').map(({ name, version }) => `${name}@${version}`),
  );
  const openJobs = async () => {
    // Imported here and not above: BullMQ is large, and hardly a reaction ever needs it.
    const { Jobs } = await import('../jobs/jobs.ts');
    return Jobs.open(jobsUrl ?? '', jobQueue(loaded.pipeline));
  };
  const retried = (runner: Runner): Runner =>
    jobsUrl !== undefined && reactions.has(runner.id) ? retriedByJob(runner, openJobs) : runner;
  const runners = declared.map((runner) => fingerprints.guard(retried(adapt ? adapt(runner) : runner)));
  const deadLetters = new DeadLetters(services.state, letterBodies(services));
  const { name, projections } = loaded.pipeline;
  const control = new ViewControl(
    new Views(services.state, name),
    projections,
    viewsRefreshMs === undefined ? {} : { refreshMs: viewsRefreshMs },
  );
  const { database } = services;
  const budget = settings.ruBudget === undefined ? undefined : new Budget(settings.ruBudget);
  const spending = budget && new Spending(database, budget, 'live');
  return { engine: new Engine({ database, runners, deadLetters, control, spending }), control, deadLetters, budget };
}
