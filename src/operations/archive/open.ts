import { openGate } from '../../archive/gate.ts';
import { openArchive } from '../../archive/open.ts';
import type { Archive, Gate } from '../../archive/types.ts';
import { UsageError } from '../../base/errors.ts';
import { type ArchiveSpec, type Pipeline, projectionId } from '../../definition/specs.ts';
import { DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import { Views } from '../../engine/views/views.ts';
import type { Step } from '../model/step.ts';
import { openStore } from '../../runtime/archives.ts';
import { type Parts, openFeed } from '../../runtime/open-feed.ts';
import { Migrations } from '../containers/migrations.ts';
import type { Screen } from '../screen.ts';
import { suggestion } from '../../base/near.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';

type Loaded = Pick<LoadedPipeline, 'pipeline' | 'model'>;

/**
 * The archives of a pipeline, or the one of that name, each ready for a verb.
 * @throws UsageError `archive-unknown`, `container-missing`, and what the storage account answers
 */
export async function openArchives(
  { pipeline, model }: Loaded,
  services: Services,
  { only, signal, screen }: { only?: string | undefined; signal: AbortSignal; screen: Pick<Screen, 'line'> },
): Promise<Archive[]> {
  const chosen = choose(pipeline, only);
  const store = await openStore(services, signal, (text) => screen.line(text));
  const { database, state } = services;
  return Promise.all(chosen.map((spec) => openArchive(spec, pipeline, model, { database, state, store })));
}

/** What has to be done for the archives of a pipeline to have a place: nothing without one, or with it there. */
export async function planStorage({ pipeline }: Loaded, services: Services, signal: AbortSignal): Promise<Step[]> {
  if (pipeline.archives.length === 0) return [];
  try {
    const store = await openStore(services, signal);
    for await (const _ of store.list('-')) break;
    return [];
  } catch (error) {
    if (!(error instanceof UsageError && error.code === 'storage-container-missing')) throw error;
    const blobs = await services.blobs();
    return [{ say: `create blob container ${blobs.containerName}`, apply: () => blobs.createIfNotExists() }];
  }
}

/**
 * What tells a sweep whether a document may leave: the positions of the pipeline's leases and its dead letters, read
 * anew at each call.
 */
export async function gateOf({ spec }: Archive, parts: Parts, signal: AbortSignal): Promise<() => Promise<Gate>> {
  const { services, loaded } = parts;
  const { state } = services;
  const { leases } = await openFeed(parts, spec.from.container, { host: 'archive' });
  // A lease that was not there yet has no position, so nothing of its range leaves.
  await leases.prepare(signal);
  const deadLetters = new DeadLetters(state);
  const views = new Views(state, loaded.pipeline.name);
  const migrations = new Migrations(state);
  return async () => {
    // What leaves while a version is built would be missing in it, or be copied and left behind by a migration.
    const building = Object.values((await views.read()) ?? {}).some(({ staged }) => staged !== null);
    const busy = building || (await migrations.isUnderWay(spec.from.container));
    return busy ? NOTHING_LEAVES : openGate(() => leases.list(), deadLetters);
  };
}

const NOTHING_LEAVES: Gate = { acknowledged: () => undefined, parked: () => true };

function choose({ archives }: Pipeline, only: string | undefined): readonly ArchiveSpec[] {
  if (archives.length === 0) {
    throw new UsageError('archive-none', 'The pipeline declares no archive', {
      mend: "Declare one: archive('orders-cold', { from: m.Orders.order, date: 'completedAt', after: '90d' }).",
    });
  }
  const found = only === undefined ? archives : archives.filter((of) => of.name === only || projectionId(of) === only);
  if (found.length > 0) return found;
  const known = archives.map(({ name }) => name);
  throw new UsageError('archive-unknown', `There is no archive ${only}${suggestion(only ?? '', known)}`, {
    mend: `There is: ${known.join(', ')}.`,
  });
}
