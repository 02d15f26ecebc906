import { isEffect } from '../pipeline/kind-facts.ts';
import type { Container } from '@azure/cosmos';
import { archiveAgain } from '../archive/sweep/re-archive.ts';
import type { HoldingStore } from '../access/blob-store.ts';
import { Holds } from '../archive/holds.ts';
import { coldReader } from '../archive/read/cold-reader.ts';
import { wholeOf } from '../pipeline/places.ts';
import { unreadBy } from '../pipeline/fields/touched.ts';
import { type Pipeline, type ReplayedSpec, projectionId } from '../pipeline/specs.ts';
import { DeadLetters } from '../engine/dead-letters/dead-letters.ts';
import { letterBodies } from '../engine/dead-letters/letter-bodies.ts';
import { Engine } from '../engine/engine.ts';
import { ErasureRecords } from '../engine/erasures/record.ts';
import { ErasureWatch } from '../engine/erasures/watch.ts';
import { Fingerprints } from '../engine/guard-fingerprints.ts';
import { type RunnerOptions, runnersOf, siftOf } from '../engine/runners.ts';
import { Starts, startAs } from '../engine/views/starts.ts';
import { ViewControl } from '../engine/views/view-control.ts';
import { Views } from '../engine/views/views.ts';
import type { ColdRead } from '../kinds/archive/cold-read.ts';
import { Poison, type Runner } from '../kinds/runner.ts';
import { leavingOutUnchanged } from '../kinds/unchanged.ts';
import { EventHubSink } from '../access/event-hub.ts';
import type { Parts } from './open-feed.ts';
import { placeDatabase, projectionDatabase } from './place-containers.ts';
import { openJobs } from './open-jobs.ts';
import { retriedByJob } from './hosts/react-retries.ts';
import { engineError } from '../engine/errors.ts';
import type { LoadedPipeline, Services } from './workspace.ts';

/**
 * `live`: new changes, for the versions that are current, staged or kept. `redrive`: any dead letter, even of a held or
 * paused projection. A spec: only this version, for history that it gets again.
 */
export type Purpose = 'live' | 'redrive' | ReplayedSpec;

export interface EngineParts extends Omit<Parts, 'settings'> {
  readonly settings: Pick<Parts['settings'], 'jobsUrl'>;
  /** How old a read may be, milliseconds (ASM-A3). Default 5,000. */
  readonly readLagMs?: number | undefined;
  /** How often a host reads the views, milliseconds. Default 2,000. */
  readonly viewsRefreshMs?: number;
  /** Projections that wait for their deployment: the reason, by `name@version`. */
  readonly held?: ReadonlyMap<string, string>;
  /** Whether a version gets history that it had before. Default: for a purpose that is one version. */
  readonly again?: boolean;
  /** `name@version` whose recorded start counts for history that a version gets again. Absent: all of history counts. */
  readonly startsAs?: string | undefined;
  /** Only this tenant's changes, and those of no tenant. Absent: all. */
  readonly tenant?: string | undefined;
  /** Name of the shard. Absent: the pipeline has one place, or this is the global place. */
  readonly shard?: string | undefined;
  /** What the engines of one process share, because it is stored once. Absent: each reads its own. */
  readonly shared?: SharedState | undefined;
  /** Notes what the documents are, and has no effect. */
  readonly note?: boolean | undefined;
  /** Replaces the storage account and the event hubs of the services. */
  readonly instead?: Pick<RunnerOptions, 'cold' | 'hub'>;
}

/** State of a pipeline that lies in the global place. */
export interface SharedState {
  readonly control: ViewControl;
  readonly fingerprints: Fingerprints;
  /** Absent: the pipeline declares no tenant. */
  readonly erasures?: ErasureWatch | undefined;
}

export interface OpenEngine extends SharedState {
  readonly engine: Engine;
  readonly deadLetters: DeadLetters;
  readonly starts: Starts;
  /** Finds documents in the archive. */
  readonly cold: ColdRead;
}

export const READ_LAG_MS = 5_000;

/** Which tenants of a pipeline are erased. Undefined: it declares no tenant, so nothing is read. */
export const watchErasures = (
  of: { readonly services: Pick<Services, 'global'>; readonly loaded: Pick<LoadedPipeline, 'pipeline'> },
  refreshMs?: number,
): ErasureWatch | undefined => {
  const { name, tenant } = of.loaded.pipeline;
  return tenant === undefined
    ? undefined
    : new ErasureWatch(new ErasureRecords(of.services.global.state, name), { refreshMs });
};

/** Where the projections of a pipeline begin in the feeds of the place. `leases`: of a host. */
export const openStarts = (
  { place: { database, state } }: Pick<Services, 'place'>,
  pipeline: Pipeline,
  leases?: Container,
): Starts => new Starts({ database, state, pipeline, leases });

/** Opens the engine of a pipeline in the place of the services. Every reader of feeds gets its engine here. */
export function openEngine(parts: EngineParts, purpose: Purpose): OpenEngine {
  const { services, loaded, readLagMs = READ_LAG_MS, viewsRefreshMs, instead } = parts;
  const { place, global, hubs } = services;
  const { state } = place;
  const whole = wholeOf(loaded.pipeline);
  const { name } = whole;
  const fingerprints =
    parts.shared?.fingerprints ?? new Fingerprints(global.state, { pipeline: whole, model: loaded.model });
  const blobs = async (): Promise<HoldingStore> => (await services.blobs()).open();
  const cold = instead?.cold ?? coldReader(blobs, state.id);
  const declared = runnersOf(only(loaded.pipeline, purpose), loaded.model, {
    stateContainer: state.id,
    readLagMs,
    cold,
    note: parts.note,
    again: parts.again ?? typeof purpose !== 'string',
    hub: instead?.hub ?? ((hub) => new EventHubSink(hub, (other) => hubs.producer(hub, other))),
  }).filter(({ id }) => typeof purpose === 'string' || id === projectionId(purpose));
  const deadLetters = new DeadLetters(state, letterBodies(services));
  const control =
    parts.shared?.control ??
    new ViewControl(new Views(global.state, name), whole, {
      ...(viewsRefreshMs !== undefined && { refreshMs: viewsRefreshMs }),
    });
  const erasures = parts.shared ? parts.shared.erasures : watchErasures(parts, viewsRefreshMs);
  const live = (runner: Runner): Runner =>
    retryReaction(holdBack(withoutUnchanged(runner, parts, { control, erasures }), parts.held?.get(runner.id)), parts);
  const runners = purpose === 'live' ? declared.map(live) : declared;
  const starts = openStarts(services, loaded.pipeline, purpose === 'live' ? global.leases : undefined);
  const engine = new Engine({
    database: placeDatabase(loaded.pipeline, services),
    databaseOf: projectionDatabase(loaded.pipeline, services),
    runners,
    deadLetters,
    erasures,
    sift: siftOf(loaded.pipeline, loaded.model, {
      stateContainer: state.id,
      again: archiveAgain(blobs, new Holds(global.state)),
    }),
    ...(purpose === 'live' ? { control, starts, guard: fingerprints, lane: 'live' } : { lane: 'bulk' }),
    ...(parts.tenant !== undefined && { tenant: parts.tenant }),
    ...(parts.startsAs !== undefined && { starts: startAs(parts.startsAs, starts) }),
  });
  return { engine, control, fingerprints, deadLetters, starts, erasures, cold };
}

function withoutUnchanged(
  runner: Runner,
  { loaded: { pipeline, model } }: EngineParts,
  { control, erasures }: Omit<SharedState, 'fingerprints'>,
): Runner {
  const whole = wholeOf(pipeline);
  const spec = pipeline.projections.find((one) => projectionId(one) === runner.id);
  const unread = spec && unreadBy(spec, whole, model);
  if (!unread) return runner;
  return leavingOutUnchanged(runner, unread, () =>
    control.isHostsAlone(spec.name) ? (erasures?.seen ?? '') : undefined,
  );
}

/**
 * A held projection parks its changes, so that none is lost. Once its deployment is correct, a redrive applies the
 * documents as they are then.
 */
function holdBack(runner: Runner, why: string | undefined): Runner {
  if (why === undefined) return runner;
  return {
    ...runner,
    apply: async (changes) => {
      const hint =
        'Correct the deployment (`millrace model apply --dry-run` shows what is missing), then redrive the dead letters.';
      // Not retryable: the deployment has to be changed first.
      const error = engineError('projection-held', `${runner.id} is held: ${why}`, { hint, retryable: false });
      throw new Poison(changes.map((change) => ({ change, error })));
    },
  };
}

/** The workers retry a failed reaction for a day. */
function retryReaction(runner: Runner, { settings: { jobsUrl }, loaded: { pipeline }, shard }: EngineParts): Runner {
  const reacts = pipeline.effects.some((spec) => spec.kind === 'react' && projectionId(spec) === runner.id);
  return reacts && jobsUrl !== undefined ? retriedByJob(runner, () => openJobs(jobsUrl, pipeline), shard) : runner;
}

function only(pipeline: Pipeline, purpose: Purpose): Pipeline {
  if (typeof purpose === 'string') return pipeline;
  const { kind } = purpose;
  return {
    ...pipeline,
    archives: [],
    publishes: kind === 'publish' ? [purpose] : [],
    effects: isEffect(purpose) ? [purpose] : [],
    // Events and reactions have to know what writes into their type.
    embeds: kind === 'embed' ? [purpose] : kind === 'publish' || kind === 'react' ? pipeline.embeds : [],
  };
}
