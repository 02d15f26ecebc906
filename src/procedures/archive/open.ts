import { openGate } from '../../archive/sweep/may-leave.ts';
import type { HoldingStore } from '../../access/blob-store.ts';
import { openArchive } from '../../archive/open.ts';
import type { Archive, Gate } from '../../archive/types.ts';
import { operationsError } from '../errors.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { UsageError } from '../../base/errors.ts';
import { type ArchiveSpec, type Pipeline, projectionId } from '../../pipeline/specs.ts';
import { registeredOf } from '../../engine/deferred/registered.ts';
import { DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import { Views } from '../../engine/views/views.ts';
import { wholeOf } from '../../pipeline/places.ts';
import type { ApplyStep } from '../apply/step.ts';
import { openStore } from '../../runtime/archives.ts';
import { type Parts, openFeed } from '../../runtime/open-feed.ts';
import { Migrations } from '../migrate/migrations.ts';
import type { Screen } from '../screen.ts';
import { suggestion } from '../../base/near.ts';
import { beginSweeping } from '../../archive/sweep/sweeping.ts';
import { foreignKeys } from './foreign-keys.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';

type Loaded = Pick<LoadedPipeline, 'pipeline' | 'model'>;

export type OpenedArchive = Archive & { readonly store: HoldingStore };

/**
 * Opens the archives of a pipeline, or the one of that name.
 * @throws UsageError `not-found`, `container-missing`, and errors of the storage account
 */
export async function openArchives(
  { pipeline, model }: Loaded,
  services: Services,
  { only, signal, screen }: { only?: string | undefined; signal: AbortSignal; screen: Pick<Screen, 'line'> },
): Promise<OpenedArchive[]> {
  const chosen = choose(pipeline, only);
  if (chosen.length === 0) return [];
  const store = await openStore(services, signal, (text) => screen.line(text));
  const { database, state } = services.place;
  const at = { database, state, holds: services.global.state, store, shared: pipeline.part !== undefined };
  return Promise.all(chosen.map(async (spec) => ({ ...(await openArchive(spec, pipeline, model, at)), store })));
}

/** The steps that create the archives' blob container; none if it exists, or if the pipeline has no archive. */
export async function planStorage({ pipeline }: Loaded, services: Services, signal: AbortSignal): Promise<ApplyStep[]> {
  // All places share the container, so that of the settings creates it.
  if (pipeline.part?.place === 'shard' || wholeOf(pipeline).archives.length === 0) return [];
  try {
    const store = await openStore(services, signal);
    for await (const _ of store.list('-')) break;
    return [];
  } catch (error) {
    if (!(error instanceof UsageError && error.code === 'storage-container-missing')) throw error;
    const blobs = await services.blobs();
    return [{ say: `create blob container ${blobs.name}`, apply: () => blobs.create() }];
  }
}

/**
 * Decides for a sweep whether a document may be archived, by the positions of the pipeline's leases, by its dead letters and
 * by its queues. Each call reads them again.
 */
export async function gateOf(
  { spec, source }: Archive,
  parts: Parts,
  signal: AbortSignal,
): Promise<() => Promise<Gate>> {
  const { services, loaded } = parts;
  const { state } = services.place;
  const { leases } = await openFeed(parts, spec.from.container, { host: 'archive' });
  // A lease created here has no position, so no document of its range is archived.
  await leases.prepare(signal);
  const deadLetters = new DeadLetters(state);
  const views = new Views(services.global.state, loaded.pipeline.name);
  const migrations = new Migrations(state);
  const deferred = registeredOf(state, { pipeline: loaded.pipeline.name, source: source.name }, signal);
  const foreign = await foreignKeys(parts, source);
  return async () => {
    // A document archived now would be missing in a version that is being built, and a migration would leave a copy.
    const building = Object.values((await views.read()) ?? {}).some(({ staged }) => staged !== null);
    const busy = building || (await migrations.isUnderWay(spec.from.container));
    if (busy) return NOTHING_LEAVES;
    if (!foreign) return openGate(() => leases.list(), { source, deadLetters, deferred });
    // Before it looks at the map: a move that locks keys after that waits for this sweep.
    const ended = await beginSweeping(state, source.name);
    const isForeign = await foreign();
    const gate = await openGate(() => leases.list(), { source, deadLetters, deferred });
    return { ...gate, ended, waits: (document) => isForeign(document.key) || gate.waits(document) };
  };
}

const NOTHING_LEAVES: Gate = { acknowledged: () => undefined, parked: () => true, waits: () => true };

/** The archives that a pipeline declares, in all places. @throws UsageError `archive-none` */
export const declaredArchives = ({ pipeline }: Pick<Loaded, 'pipeline'>): readonly ArchiveSpec[] =>
  choose(wholeOf(pipeline), undefined);

/** Of a part, those that it runs: perhaps none. */
function choose(pipeline: Pipeline, only: string | undefined): readonly ArchiveSpec[] {
  const { archives } = wholeOf(pipeline);
  if (archives.length === 0) {
    throw operationsError('archive-none', 'The pipeline declares no archive');
  }
  const found = only === undefined ? archives : archives.filter((of) => of.name === only || projectionId(of) === only);
  if (found.length > 0) return found.filter((spec) => pipeline.archives.includes(spec));
  const known = archives.map(({ name }) => name);
  throw sharedError('not-found', `There is no archive ${only}${suggestion(only ?? '', known)}`, {
    hint: `The pipeline declares: ${known.join(', ')}.`,
  });
}
