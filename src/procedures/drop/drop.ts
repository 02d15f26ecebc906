import type { Container, Database } from '@azure/cosmos';
import pMap from 'p-map';
import { LANDING_BOUND_MS, WRITE_BOUND_MS } from '../../base/bounds.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { type KeyPath, storedKey, splitPath } from '../../cosmos/paths.ts';
import { AmbiguousOutcome, withRetry } from '../../cosmos/retry.ts';
import { projectionId } from '../../pipeline/specs.ts';
import { appliedUntil, isApplied } from '../../engine/views/kept.ts';
import { type View, type ViewVersion, Views } from '../../engine/views/views.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { suggestion } from '../../base/near.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { StagedHosts } from '../../runtime/hosts/staged-hosts.ts';
import { allPlaces, holding } from '../projections/in-places.ts';
import type { Settings } from '../../base/settings.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { operationsError } from '../errors.ts';

export interface Dropped {
  readonly projection: string;
  /** Documents of its sink, contributions included. */
  readonly documents: number;
  /** Its documents in the state container: locators, joined states, dead letters. */
  readonly state: number;
  /** Of a projection that was removed from the pipeline: the leases of feeds that nothing reads any more. */
  readonly leases?: number;
  /** Of a sink: the content that was being filled. */
  readonly target?: string;
}

export interface VersionOptions {
  readonly services: Services;
  readonly loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>;
  readonly name: string;
  readonly version: number;
  readonly signal: AbortSignal;
  readonly progress?: ((removed: number) => void) | undefined;
}

export interface DropOptions extends VersionOptions {
  readonly settings: Settings;
  /** Milliseconds since 1970; default: now. */
  readonly now?: number;
}

/**
 * Removes a version that isn't current, with its documents in the sink and in the state container. A rebuild of the
 * version ends. May be stopped and run again.
 * @throws UsageError `version-current`, `not-found`, `still-readable`
 */
export async function drop(options: DropOptions): Promise<Dropped> {
  const { services, loaded, name, version, signal, progress, now = Date.now() } = options;
  const views = new Views(services.global.state, loaded.pipeline.name);
  const view = (await views.read())?.[name];
  const id = projectionId({ name, version });
  const target = droppable(view, options, now);
  const spec = loaded.pipeline.projections.find((of) => projectionId(of) === id);
  if (view?.staged?.version === version) {
    await views.change(name, (of) => (of.staged?.version === version ? { ...of, staged: null } : undefined));
    // A process that still builds it loses its leases, and so the right to write.
    if (spec) {
      await using staged = await StagedHosts.open({ ...options, spec, purpose: id });
      await staged.stop();
      await staged.removeLeases();
    }
  }
  const places = await allPlaces(options);
  const sinks = new Set(holding(places, target.container));
  const removed = { documents: 0, state: 0 };
  for (const place of places) {
    const before = removed.documents + removed.state;
    const of = { ...place, name, version, signal, progress: (count: number) => progress?.(before + count) };
    const { documents, state } = await removeVersion(of, sinks.has(place) ? target.container : undefined);
    removed.documents += documents;
    removed.state += state;
  }
  // Of a run that died, or of a process that was overtaken. A move of keys would wait for them.
  if (spec) await StagedHosts.forget({ ...options, spec, purpose: id });
  await views.change(name, (of) => (of.previous?.version === version ? { ...of, previous: null } : undefined));
  return { projection: id, ...removed };
}

/**
 * Removes the documents of a version in its sink `container` and in the state container of a place. Undefined: the place
 * doesn't have the sink. No process may build it.
 */
export async function removeVersion(
  { services: { place }, loaded, name, version, signal, progress }: VersionOptions,
  container: string | undefined,
): Promise<Pick<Dropped, 'documents' | 'state'>> {
  const { database, state } = place;
  const id = projectionId({ name, version });
  let removed = 0;
  const remove = async (from: Container, keyPaths: readonly KeyPath[], where: string): Promise<number> => {
    let count = 0;
    // Until nothing is found twice: a suspended host may have written meanwhile, and a lagging replica may hide documents.
    for (let quiet = 0; quiet < 2;) {
      const query = { query: `SELECT * FROM c WHERE ${where}`, parameters: [{ name: '@id', value: id }] };
      let found = 0;
      const gone = async (document: Record<string, unknown>): Promise<void> => {
        if (!(await removeDocument(from, keyPaths, document))) return;
        found += 1;
        removed += 1;
        progress?.(removed);
      };
      await pMap(fetchAll<Record<string, unknown>>(from, query, signal), gone, { concurrency: 32 });
      count += found;
      quiet = found === 0 ? quiet + 1 : 0;
    }
    return count;
  };
  const key = container === undefined ? undefined : await keyOf(loaded, database, container);
  const documents =
    container !== undefined && key
      ? await remove(database.container(container), key.map(splitPath), 'c._mr["by"] = @id OR c["by"] = @id')
      : 0;
  const kept = await remove(state, [['pk']], 'c.projection = @id OR (c.pk = "fingerprints" AND c.id = @id)');
  return { documents, state: kept };
}

/** The partition key of a sink. Of a container that the model lacks, the service says it; undefined: there is none. */
async function keyOf(
  { model }: Pick<LoadedPipeline, 'model'>,
  database: Database,
  name: string,
): Promise<readonly string[] | undefined> {
  const designed = model.containers.find((of) => of.name === name);
  if (designed) return designed.partitionKey;
  try {
    const { resource } = await withRetry(() => database.container(name).read(), { reads: true });
    return resource?.partitionKey?.paths;
  } catch (error) {
    if (failureOf(error).kind === 'not-found') return undefined;
    throw error;
  }
}

async function removeDocument(
  container: Container,
  keyPaths: readonly KeyPath[],
  document: Record<string, unknown>,
): Promise<boolean> {
  const { id } = document;
  if (typeof id !== 'string') return false;
  try {
    await withRetry(() => container.item(id, storedKey(document, keyPaths)).delete(), { reads: false });
    return true;
  } catch (error) {
    if (failureOf(error).kind === 'not-found') return false;
    // The next round finds it again if it still exists.
    if (error instanceof AmbiguousOutcome) return true;
    throw error;
  }
}

/** The version that may be dropped. @throws UsageError `version-current`, `not-found`, `still-readable` */
export function droppable(
  view: View | undefined,
  { loaded: { pipeline }, name, version }: Pick<DropOptions, 'loaded' | 'name' | 'version'>,
  now: number,
): Pick<ViewVersion, 'container'> {
  const id = projectionId({ name, version });
  if (view?.current?.version === version) {
    throw operationsError('version-current', `${id} is current: readers read it`, {
      hint: `Build and promote another version first: \`millrace projections rebuild ${name}\`.`,
    });
  }
  const { previous, staged } = view ?? {};
  if (previous?.version === version) {
    const written = appliedUntil(previous) + WRITE_BOUND_MS + LANDING_BOUND_MS;
    const until = Math.max(Date.parse(previous.readableUntil), written);
    if (now < until) {
      const who = isApplied(previous, now) ? 'Hosts keep' : 'Readers may read';
      throw operationsError(
        'still-readable',
        `${who} ${id}: it can be dropped from ${new Date(until).toISOString()} on`,
      );
    }
    return previous;
  }
  if (staged?.version === version) return staged;
  const spec = pipeline.projections.find((of) => projectionId(of) === id);
  if (spec) return spec.into;
  const known = pipeline.projections.map(projectionId);
  throw sharedError('not-found', `There is no version ${id}${suggestion(id, known)}`, {
    hint: 'Run `millrace projections list` to see the versions.',
  });
}
