import { AzureBlobStore } from '../archive/azure-blob-store.ts';
import { coldReader } from '../archive/cold-reader.ts';
import { MillraceError } from '../base/errors.ts';
import { type EmbedSpec, type Pipeline, type ProjectionSpec, projectionId } from '../definition/specs.ts';
import { DeadLetters } from '../engine/dead-letters/dead-letters.ts';
import { letterBodies } from '../engine/dead-letters/letter-bodies.ts';
import { Engine } from '../engine/engine.ts';
import { Fingerprints } from '../engine/fingerprints.ts';
import { type RunnerOptions, runnersOf } from '../engine/runners.ts';
import { ViewControl } from '../engine/views/view-control.ts';
import { Views } from '../engine/views/views.ts';
import type { ColdRead } from '../projections/archive/cold-read.ts';
import { Poison, type Runner } from '../projections/runner.ts';
import { EventHubSink } from '../sinks/event-hub.ts';
import type { Parts } from './open-feed.ts';
import { openJobs } from './open-jobs.ts';
import { retriedByJob } from './react-retries.ts';

/**
 * `live`: changes as they come, for the versions that are current, staged or kept. `redrive`: whatever is asked for, held
 * back by nothing. A version: that one alone, and nothing that takes effect outside is even opened.
 */
export type Purpose = 'live' | 'redrive' | ProjectionSpec | EmbedSpec;

export interface EngineParts extends Omit<Parts, 'settings'> {
  readonly settings: Pick<Parts['settings'], 'jobsUrl'>;
  /** How old a read may be, milliseconds (A3). Default 5,000. */
  readonly readLagMs?: number | undefined;
  /** How old what a host knows of the views may be, milliseconds. Default 2,000. */
  readonly viewsRefreshMs?: number;
  /** Projections that must not work, and why, by `name@version`. */
  readonly held?: ReadonlyMap<string, string>;
  /** In place of the storage account and the event hubs of the services. */
  readonly instead?: Pick<RunnerOptions, 'cold' | 'hub'>;
}

export interface OpenEngine {
  readonly engine: Engine;
  readonly control: ViewControl;
  readonly deadLetters: DeadLetters;
  /** Where documents are found that have left for the archive. */
  readonly cold: ColdRead;
}

export const READ_LAG_MS = 5_000;

/** The engine of a pipeline: the only one that is made, whoever reads the feeds and whatever for. */
export function openEngine(parts: EngineParts, purpose: Purpose): OpenEngine {
  const { services, loaded, readLagMs = READ_LAG_MS, viewsRefreshMs, instead } = parts;
  const { database, state, hubs } = services;
  const { name, projections } = loaded.pipeline;
  const fingerprints = new Fingerprints(state, loaded);
  const cold = instead?.cold ?? coldReader(async () => new AzureBlobStore(await services.blobs()), state.id);
  const declared = runnersOf(only(loaded.pipeline, purpose), loaded.model, {
    stateContainer: state.id,
    readLagMs,
    cold,
    strict: fingerprints.isStrict,
    hub: instead?.hub ?? ((hub) => new EventHubSink(hub, (other) => hubs.producer(hub, other))),
  }).filter(({ id }) => typeof purpose === 'string' || id === projectionId(purpose));
  const around = purpose === 'live' ? aroundLive(parts, fingerprints) : [];
  const runners = declared.map((runner) => around.reduce((inner, put) => put(inner), runner));
  const deadLetters = new DeadLetters(state, letterBodies(services));
  const control = new ViewControl(new Views(state, name), projections, {
    ...(viewsRefreshMs !== undefined && { refreshMs: viewsRefreshMs }),
  });
  const engine = new Engine({
    database,
    runners,
    deadLetters,
    ...(purpose === 'live' ? { control, lane: 'live' } : { lane: 'bulk' }),
  });
  return { engine, control, deadLetters, cold };
}

/** What is put around every runner that gets live changes, the innermost first. */
const aroundLive = (parts: EngineParts, fingerprints: Fingerprints): ((runner: Runner) => Runner)[] => [
  // What its deployment isn't ready for is parked, so that the others go on.
  (runner) => holdBack(runner, parts.held?.get(runner.id)),
  // A reaction that failed is tried again by the workers, for a day.
  (runner) => retryReaction(runner, parts),
  // A version that is declared otherwise than what it has written must not write any more: asked before anything else.
  (runner) => fingerprints.guard(runner),
];

/**
 * A projection that is held parks what it gets, so that nothing of it is lost: once it may work again a redrive applies
 * the documents as they are then.
 */
function holdBack(runner: Runner, why: string | undefined): Runner {
  if (why === undefined) return runner;
  return {
    ...runner,
    apply: async (changes) => {
      const mend = 'Mend what is deployed (`millrace model apply --dry-run` shows it), then redrive its dead letters.';
      const error = new MillraceError('projection-held', `${runner.id} is held: ${why}`, { mend });
      throw new Poison(changes.map((change) => ({ change, error })));
    },
  };
}

function retryReaction(runner: Runner, { settings: { jobsUrl }, loaded: { pipeline } }: EngineParts): Runner {
  const reacts = pipeline.effects.some((spec) => spec.kind === 'react' && projectionId(spec) === runner.id);
  return reacts && jobsUrl !== undefined ? retriedByJob(runner, () => openJobs(jobsUrl, pipeline)) : runner;
}

function only(pipeline: Pipeline, purpose: Purpose): Pipeline {
  if (typeof purpose === 'string') return pipeline;
  return { ...pipeline, archives: [], publishes: [], effects: [], embeds: purpose.kind === 'embed' ? [purpose] : [] };
}
