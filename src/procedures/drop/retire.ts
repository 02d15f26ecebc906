// Removes a projection that the pipeline no longer declares. Until then hosts hold what it reads, because a pipeline that
// lacks a current version may also be an older one (REB-V4).
import { type Clock, systemClock } from '../../base/clock.ts';
import { LANDING_BOUND_MS, WRITE_BOUND_MS } from '../../base/bounds.ts';
import { abortReason } from '../../base/errors.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { feedReaders, sourcesOf } from '../../pipeline/pipeline.ts';
import { type Pipeline, projectionId } from '../../pipeline/specs.ts';
import { VIEWS_REFRESH_MS } from '../../engine/views/view-control.ts';
import { type View, type ViewVersion, type ViewsByName, Views } from '../../engine/views/views.ts';
import { LeaseLost } from '../../feed/leases/lease.ts';
import { type Parts, openFeed } from '../../runtime/open-feed.ts';
import { removeMarker } from '../../runtime/hosts/staged-host.ts';
import type { Screen } from '../screen.ts';
import { type OpenPlace, inPlaces, placesOf } from '../../runtime/places.ts';
import { type DropOptions, type Dropped, assertUnused, removeEverywhere } from './drop.ts';
import { operationsError } from '../errors.ts';
import { refuseRead } from '../projections/still-written.ts';

/** After this time no host that still declares the version writes for it. */
export const RETIRE_MS = VIEWS_REFRESH_MS + WRITE_BOUND_MS + LANDING_BOUND_MS;

export interface RetireOptions extends Omit<DropOptions, 'version' | 'now'> {
  readonly clock?: Clock | undefined;
  readonly screen?: Pick<Screen, 'progress'>;
}

/** What is stored of a name that no declaration has. */
export interface Retirable {
  /** Absent: only a pause of something without versions is stored. */
  readonly version?: ViewVersion;
  /** When a run of this command before made it readable by none, ISO 8601 UTC. */
  readonly since?: string;
  /** Containers that no projection reads from then on. */
  readonly unread: readonly string[];
}

export const isDeclared = (pipeline: Pipeline, name: string): boolean =>
  [...feedReaders(pipeline), ...pipeline.ingests].some((spec) => spec.name === name);

/**
 * What may be removed of a name; undefined: the pipeline declares it, or nothing is stored of it.
 * @throws UsageError `rebuild-under-way`, `still-readable`, `version-read`
 */
export function retirable(pipeline: Pipeline, name: string, views: ViewsByName = {}): Retirable | undefined {
  const view = views[name];
  if (view === undefined || isDeclared(pipeline, name)) return undefined;
  const { current, staged, previous } = view;
  if (staged) {
    // A custom projection is rebuilt in place, and ends that first.
    const ended = staged.container === '' ? `rebuild ${name}` : `drop ${name}@${staged.version}`;
    throw operationsError('rebuild-under-way', `${name}@${staged.version} is ${staged.phase} since ${staged.since}`, {
      hint: `Declare ${name} again, and run \`millrace projections ${ended}\`. Then remove the declaration.`,
    });
  }
  if (current && previous) {
    throw operationsError('still-readable', `${name} has the version before too: ${name}@${previous.version}`, {
      hint: `Run \`millrace projections drop ${name}@${previous.version}\` first.`,
    });
  }
  const version = current ?? previous ?? undefined;
  if (version) refuseRead(pipeline, views, { ...version, name });
  const read = new Set(feedReaders(pipeline).flatMap((spec) => sourcesOf(spec).map(({ container }) => container)));
  const unread = [...new Set(version?.reads.map(({ container }) => container))].filter((name_) => !read.has(name_));
  return { ...(version && { version }), ...(!current && previous && { since: previous.replacedAt }), unread };
}

/**
 * Removes a name: its version is no longer current, which ends the holding; after `RETIRE_MS` its documents go, with the
 * leases of feeds that nothing reads any more; then its view. May be stopped and run again.
 */
export async function retire(
  options: RetireOptions,
  { version, unread }: Retirable,
): Promise<Dropped & { leases: number }> {
  const { services, loaded, name, signal, screen, clock = systemClock } = options;
  const views = new Views(services.global.state, loaded.pipeline.name);
  if (version === undefined) {
    await views.forget(name, ({ current, staged, previous }) => !current && !staged && !previous);
    return { projection: name, documents: 0, state: 0, leases: 0 };
  }
  const view = await views.change(name, (of) => (of.current ? retired(of, of.current, clock.now()) : undefined));
  const until = Date.parse(view.previous?.readableUntil ?? '');
  for (let left = until - clock.now(); left > 0; left = until - clock.now()) {
    screen?.progress(
      'waiting until no host writes it',
      Math.floor((RETIRE_MS - left) / 1000),
      Math.ceil(RETIRE_MS / 1000),
    );
    await clock.sleep(Math.min(left, 1_000), signal).catch((error: unknown) => {
      throw signal.aborted ? abortReason(signal) : error;
    });
  }
  const of = { name, version: version.version };
  const own = (stored: View): void => assertUnused(stored, of);
  const removed = await removeEverywhere({ ...options, ...of, own }, version.container);
  const leases = await inFeeds(options, unread, removeLeases);
  await views.forget(name, ({ current, staged, previous }) => !current && !staged && previous !== null);
  return { projection: projectionId(of), ...removed, leases };
}

function retired(view: View, current: ViewVersion, now: number): View {
  const readableUntil = new Date(now + RETIRE_MS).toISOString();
  const previous = { ...current, replacedAt: new Date(now).toISOString(), readableUntil };
  return { ...view, current: null, previous, paused: null, promotions: view.promotions + 1 };
}

/** Works on the feeds of containers in all places, and adds up. */
export async function inFeeds(
  parts: Parts,
  containers: readonly string[],
  work: (place: OpenPlace, container: string) => Promise<number>,
): Promise<number> {
  const counts = await inPlaces(await placesOf(parts).list(), (place) =>
    Promise.all(containers.map((container) => work(place, container))),
  );
  return counts.flat().reduce((total, of) => total + of, 0);
}

/** A lease that a host with an older pipeline writes meanwhile is left to it. */
async function removeLeases(place: OpenPlace, container: string): Promise<number> {
  const feed = await leasesOf(place, container);
  let removed = 0;
  for (const lease of feed?.all ?? []) {
    try {
      await feed?.store.remove(lease);
      removed += 1;
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
    }
  }
  if (feed) await removeMarker(place.services, feed.prefix);
  return removed;
}

/** The leases of a container's feed; undefined: the place doesn't have the container. */
export async function leasesOf(place: OpenPlace, container: string) {
  try {
    const { leases: store, prefix } = await openFeed(place, container, { host: 'retire' });
    return { store, prefix, all: await store.list() };
  } catch (error) {
    if (failureOf(error).kind === 'not-found') return undefined;
    throw error;
  }
}
