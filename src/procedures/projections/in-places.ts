// A version of a projection in the places that run it. Without shards, that is the place of the settings.
import { mapSettled } from '../../base/map-settled.ts';
import { containersHere } from '../../pipeline/places.ts';
import type { DerivedSpec, ReplayedSpec, SourceRules } from '../../pipeline/specs.ts';
import { type DeadLetter, DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { placeDatabase } from '../../runtime/place-containers.ts';
import { type PipelinePlace, pipelinePlaces, placesRunning } from '../../runtime/shard-map.ts';
import { estimate } from './estimate.ts';

/** A place that is open, with the part that its hosts run. */
export interface InPlace extends Parts {
  /** Absent: the place of the settings. */
  readonly shard?: string;
}

/** The places whose hosts run a declaration; of the shards only those that `shards` has. */
export const placesOf = async (parts: Parts, spec: DerivedSpec, shards?: ReadonlySet<string>): Promise<InPlace[]> =>
  opened(parts, await placesRunning(parts, spec, shards));

/** Every place of the pipeline. */
export const allPlaces = async (parts: Parts): Promise<InPlace[]> => opened(parts, await pipelinePlaces(parts));

const opened = ({ settings }: Parts, places: readonly PipelinePlace<Parts['loaded']>[]): Promise<InPlace[]> =>
  mapSettled(
    places,
    async ({ shard, loaded, open }) => ({
      settings,
      loaded,
      services: await open(),
      ...(shard !== undefined && { shard }),
    }),
    { concurrency: 8 },
  );

/** The places that have a container. */
export const holding = (places: readonly InPlace[], container: string): InPlace[] =>
  places.filter(({ loaded: { pipeline, model } }) =>
    containersHere(pipeline, model).some(({ name }) => name === container),
  );

/** As `holding`. Where no model has the container any more, each place may have it still. */
export function projectionMayHold(places: readonly InPlace[], container: string): readonly InPlace[] {
  const known = places.some(({ loaded: { model } }) => model.containers.some(({ name }) => name === container));
  return known ? holding(places, container) : places;
}

/** The dead letters of `name@version` in all of these places. */
export async function lettersIn(places: readonly InPlace[], projection: string): Promise<DeadLetter[]> {
  const found = await Promise.all(places.map(({ services }) => new DeadLetters(services.place.state).list(projection)));
  return found.flat();
}

/** The number of documents that the places read, and the RU to read and write each of them once. */
export async function estimateIn(
  spec: ReplayedSpec,
  places: readonly InPlace[],
  rules: readonly SourceRules[],
): Promise<{ documents: number; ru: number }> {
  const each = await mapSettled(
    places,
    ({ services, loaded }) => estimate(spec, services, rules, () => [placeDatabase(loaded.pipeline, services)]),
    { concurrency: 8 },
  );
  const sum = (of: (one: { documents: number; ru: number }) => number): number =>
    each.reduce((n, one) => n + of(one), 0);
  return { documents: sum(({ documents }) => documents), ru: sum(({ ru }) => ru) };
}
