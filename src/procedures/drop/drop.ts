import type { Container, Database, ItemDefinition } from '@azure/cosmos';
import { LANDING_BOUND_MS, WRITE_BOUND_MS } from '../../base/bounds.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { type KeyPath, storedKey, splitPath } from '../../cosmos/paths.ts';
import { AmbiguousOutcome, withRetry } from '../../cosmos/retry.ts';
import { type ProjectionSpec, type SourceRef, projectionId } from '../../pipeline/specs.ts';
import { appliedUntil, isApplied } from '../../engine/views/kept.ts';
import {
  NO_VIEW,
  type Staged,
  type View,
  type ViewVersion,
  type ViewsByName,
  Views,
} from '../../engine/views/views.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { suggestion } from '../../base/near.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import type { LoadedPipeline } from '../../runtime/workspace.ts';
import { StagedHosts } from '../../runtime/hosts/staged-hosts.ts';
import { inPlaces, placesOf } from '../../runtime/places.ts';
import { mayHold } from '../projections/in-places.ts';
import { isRunOrKept, refuseRead } from '../projections/still-written.ts';
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

/** Documents that are removed before the run looks whether it may go on. */
const AT_ONCE = 100;

type NamedVersion = Pick<ProjectionSpec, 'name' | 'version'>;

export interface VersionOptions extends Omit<Parts, 'settings'> {
  readonly name: string;
  readonly version: number;
  readonly signal: AbortSignal;
  readonly progress?: ((removed: number) => void) | undefined;
}

export interface DropOptions extends VersionOptions, Parts {
  /** Milliseconds since 1970; default: now. */
  readonly now?: number;
}

export interface RemoveOptions extends Omit<DropOptions, 'now'> {
  /** Throws if the version is no longer this run's to remove: another run may have ended, and the version be built again. */
  readonly own: (view: View) => unknown;
}

/**
 * Removes a version that isn't current, with its documents in the sink and in the state container. A rebuild of the
 * version ends. May be stopped and run again.
 * @throws UsageError `version-current`, `not-found`, `still-readable`, `version-read`
 */
export async function drop(options: DropOptions): Promise<Dropped> {
  const { services, loaded, name, version, now = Date.now() } = options;
  const views = new Views(services.global.state, loaded.pipeline.name);
  const all = await views.read();
  const view = all?.[name];
  const { container } = droppable(all, options, now);
  const since = view?.staged?.version === version ? await resetting(views, options) : undefined;
  const own = (of: View): unknown => (since === undefined ? assertUnused(of, options) : ownReset(of, options, since));
  const removed = await removeBuilt({ ...options, own }, container, since !== undefined);
  await views.change(name, (of) => {
    if (since !== undefined) return { ...of, staged: ownReset(of, options, since) && null };
    return of.previous?.version === version ? { ...of, previous: null } : undefined;
  });
  return { projection: projectionId(options), ...removed };
}

/** From now on a version that was being built is taken back. Returns what names this run (REB-V13). */
export async function resetting(views: Views, { name, version }: NamedVersion): Promise<string> {
  const since = new Date().toISOString();
  await views.change(name, (view) => {
    if (view.staged?.version !== version) return undefined;
    const { frozenUntil: _, ...staged } = view.staged;
    return { ...view, staged: { ...staged, phase: 'resetting', since } };
  });
  return since;
}

/** What this run takes back. @throws UsageError `rebuild-under-way` if another run does, or has */
export function ownReset({ staged }: View, of: NamedVersion, since: string | undefined): Staged {
  if (staged?.version === of.version && staged.phase === 'resetting' && staged.since === since) return staged;
  throw otherRun(of);
}

/** @throws UsageError `rebuild-under-way` if the version has been built again, or is current again */
export function assertUnused({ current, staged }: View, of: NamedVersion): void {
  if (current?.version === of.version || staged?.version === of.version) throw otherRun(of);
}

const otherRun = (of: NamedVersion): Error =>
  operationsError('rebuild-under-way', `Another process removes or builds ${projectionId(of)}`, {
    hint: `Wait for it: \`millrace projections show ${of.name}\` shows the phase. If it has died, run this again.`,
  });

/**
 * Asks by a write, because a read may be older than what another run has done. What was read before it is then older than
 * all that another run builds.
 */
const assertOwn = ({ services, loaded, name, own }: RemoveOptions): Promise<unknown> =>
  new Views(services.global.state, loaded.pipeline.name).change(name, (view) => {
    own(view);
    return view === NO_VIEW ? undefined : { ...view };
  });

/** Removes all that a version has in all places. `building`: a process may be at it. */
export async function removeBuilt(
  options: RemoveOptions,
  container: string,
  building: boolean,
): Promise<Pick<Dropped, 'documents' | 'state'>> {
  const { loaded, name, version } = options;
  const purpose = projectionId({ name, version });
  const spec = loaded.pipeline.projections.find((of) => projectionId(of) === purpose);
  const asserting = { ...options, mayForget: () => assertOwn(options) };
  if (spec && building) {
    // A process that still builds it loses its leases, and so the right to write.
    await using staged = await StagedHosts.open({ ...asserting, spec, purpose });
    await staged.stop();
    await staged.removeLeases();
  }
  const removed = await removeEverywhere(options, container);
  // Of a run that died, or of a process that was overtaken. A move of keys would wait for them.
  if (spec) await StagedHosts.forget({ ...asserting, spec, purpose });
  return removed;
}

/**
 * Removes the documents of a version in its sink `container` and in the state containers, in all places. No process may
 * build it.
 */
export async function removeEverywhere(
  options: RemoveOptions,
  container: string,
): Promise<Pick<Dropped, 'documents' | 'state'>> {
  let shown = 0;
  const progress = (): void => options.progress?.((shown += 1));
  const before = (): Promise<unknown> => assertOwn(options);
  const removed = await inPlaces(await placesOf(options).list(), (place) =>
    removeVersion({ ...options, ...place, progress, before }, mayHold(container)(place) ? container : undefined),
  );
  const sum = (of: 'documents' | 'state'): number => removed.reduce((total, one) => total + one[of], 0);
  return { documents: sum('documents'), state: sum('state') };
}

/**
 * In one place. `container` undefined: the place doesn't have the sink. `before` is called for some documents that were
 * read, before they are removed as they were read; `progress` for each.
 */
export async function removeVersion(
  {
    services: { place },
    loaded,
    name,
    version,
    signal,
    before,
    progress,
  }: Omit<VersionOptions, 'progress'> & { readonly before?: () => Promise<unknown>; readonly progress?: () => void },
  container: string | undefined,
): Promise<Pick<Dropped, 'documents' | 'state'>> {
  const { database, state } = place;
  const id = projectionId({ name, version });
  const removeAll = async (from: Container, keyPaths: readonly KeyPath[], where: string): Promise<number> => {
    let count = 0;
    // Until nothing is found twice: a suspended host may have written meanwhile, and a lagging replica may hide documents.
    for (let quiet = 0; quiet < 2;) {
      const query = { query: `SELECT * FROM c WHERE ${where}`, parameters: [{ name: '@id', value: id }] };
      let found = 0;
      const gone = async (document: ItemDefinition): Promise<void> => {
        if (!(await removeDocument(from, keyPaths, document))) return;
        found += 1;
        progress?.();
      };
      const read: ItemDefinition[] = [];
      const remove = async (): Promise<void> => {
        if (read.length === 0) return;
        await before?.();
        await mapSettled(read.splice(0), gone, { concurrency: 32 });
      };
      for await (const document of fetchAll<ItemDefinition>(from, query, signal)) {
        read.push(document);
        if (read.length === AT_ONCE) await remove();
      }
      await remove();
      count += found;
      quiet = found === 0 ? quiet + 1 : 0;
    }
    return count;
  };
  const key = container === undefined ? undefined : await keyOf(loaded, database, container);
  const documents =
    container !== undefined && key
      ? await removeAll(database.container(container), key.map(splitPath), 'c._mr["by"] = @id OR c["by"] = @id')
      : 0;
  const kept = await removeAll(state, [['pk']], 'c.projection = @id OR (c.pk = "fingerprints" AND c.id = @id)');
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
  document: ItemDefinition,
): Promise<boolean> {
  const { id, _etag: condition } = document;
  if (id === undefined) return false;
  const item = container.item(id, storedKey(document, keyPaths));
  try {
    // One that lands late removes nothing that another run has built since.
    await withRetry(() => item.delete({ accessCondition: { type: 'IfMatch', condition } }), { reads: false });
    return true;
  } catch (error) {
    const { kind } = failureOf(error);
    if (kind === 'not-found') return false;
    // The next round finds it again if it still exists.
    if (error instanceof AmbiguousOutcome || kind === 'precondition') return true;
    throw error;
  }
}

/**
 * The version that may be dropped.
 * @throws UsageError `version-current`, `not-found`, `still-readable`, `rebuild-under-way`, `version-read`
 */
export function droppable(
  views: ViewsByName = {},
  { loaded, name, version }: Pick<DropOptions, 'loaded' | 'name' | 'version'>,
  now: number,
): Pick<ViewVersion, 'container'> {
  const found = unused(views[name], { loaded, name, version }, now);
  const { container, type } = found;
  refuseRead(loaded.pipeline, views, { container, type, name, version }, views[name]?.current, isRunOrKept);
  return found;
}

function unused(
  view: View | undefined,
  { loaded: { pipeline }, name, version }: Pick<DropOptions, 'loaded' | 'name' | 'version'>,
  now: number,
): SourceRef {
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
  if (staged?.version === version) {
    if (staged.container !== '') return staged;
    // Of a custom projection: what its reset has removed comes back only by the end of the rebuild.
    throw operationsError('rebuild-under-way', `${id} is rebuilt in place, so nothing apart can be dropped`, {
      hint: `Finish it with \`millrace projections rebuild ${name}\`.`,
    });
  }
  const spec = pipeline.projections.find((of) => projectionId(of) === id);
  if (spec) return spec.into;
  const known = pipeline.projections.map(projectionId);
  throw sharedError('not-found', `There is no version ${id}${suggestion(id, known)}`, {
    hint: 'Run `millrace projections list` to see the versions.',
  });
}
