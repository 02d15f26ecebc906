// The archives of a pipeline, each once, whatever the places that have its documents.
import type { MovingKeys } from '../../archive/compact.ts';
import { beginSweeping } from '../../archive/sweep/sweeping.ts';
import { projectionId } from '../../pipeline/specs.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { type OpenPlace, inPlaces, placesOf } from '../../runtime/places.ts';
import type { Screen } from '../screen.ts';
import { movingKeys } from './foreign-keys.ts';
import { type OpenedArchive, openArchives } from './open.ts';
import { allBlobs } from './all-blobs.ts';

export interface OpenedTogether {
  /** With the entries of all its places. Its feed is that of one of them. */
  readonly archive: OpenedArchive;
  /** The same in each place that has documents of it. */
  readonly places: readonly ArchivePlace[];
  /** Absent: no key of it moves between places. */
  readonly moving?: () => Promise<MovingKeys>;
}

export interface ArchivePlace extends OpenPlace {
  /** With its own feed and entries. */
  readonly archive: OpenedArchive;
}

/**
 * Opens archives for work on their blobs, which all places share.
 * @throws UsageError as `openArchives`
 */
export async function openTogether(
  parts: Parts,
  options: { readonly only?: string | undefined; readonly signal: AbortSignal; readonly screen: Pick<Screen, 'line'> },
): Promise<OpenedTogether[]> {
  const places = await placesOf(parts).list();
  const opened = await inPlaces(places, async (place) =>
    (await openArchives(place.loaded, place.services, options)).map((archive): ArchivePlace => ({ ...place, archive })),
  );
  const byName = Map.groupBy(opened.flat(), ({ archive }) => projectionId(archive.spec));
  return Promise.all(
    [...byName.values()].map(async (of): Promise<OpenedTogether> => {
      const [{ archive }, ...others] = of as [ArchivePlace, ...ArchivePlace[]];
      if (parts.loaded.pipeline.shards === undefined) return { archive, places: of };
      const access: OpenedArchive['access'] = (fence) =>
        allBlobs([archive.access(fence), ...others.map((other) => other.archive.access(fence))]);
      const isSharded = places.some(({ loaded: { pipeline } }) => pipeline.part?.inShards.has(archive.source.name));
      const keys = isSharded ? await movingKeys(parts, archive.source) : undefined;
      return {
        archive: { ...archive, access },
        places: of,
        ...(keys && {
          moving: async () => {
            // Before it looks at the map: a move that locks keys after that waits for these records.
            const records = of.map(({ services }) => beginSweeping(services.place.state, archive.source.name));
            const ended = await Promise.all(records);
            const has = await keys();
            return { has, ended: async () => void (await Promise.all(ended.map((end) => end()))) };
          },
        }),
      };
    }),
  );
}
