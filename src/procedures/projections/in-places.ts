// A version of a projection in the places that run it. Without shards, that is the place of the settings.
import { containersHere } from '../../pipeline/places.ts';
import type { ReplayedSpec } from '../../pipeline/specs.ts';
import { type DeadLetter, DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { placeDatabase } from '../../runtime/place-containers.ts';
import { type OpenPlace, type PipelinePlace, inPlaces, placesOf } from '../../runtime/places.ts';
import { estimate } from './estimate.ts';

/** Whether a place has a container. Where no model has the container any more, each place may have it still. */
export const mayHold =
  (container: string) =>
  ({ loaded: { pipeline, model } }: Pick<PipelinePlace, 'loaded'>): boolean =>
    !model.containers.some(({ name }) => name === container) ||
    containersHere(pipeline, model).some(({ name }) => name === container);

/** The dead letters of `name@version` in all of these places. */
export async function lettersIn(places: readonly PipelinePlace[], projection: string): Promise<DeadLetter[]> {
  const list = ({ services }: OpenPlace) => new DeadLetters(services.place.state).list(projection);
  return (await inPlaces(places, list)).flat();
}

/** The number of documents that the places of a version read, and the RU to read and write each of them once. */
export async function estimateIn(spec: ReplayedSpec, parts: Parts): Promise<{ documents: number; ru: number }> {
  const { sources } = parts.loaded.pipeline;
  const each = await inPlaces(await placesOf(parts).of(spec), ({ services, loaded }) =>
    estimate(spec, services, sources, () => [placeDatabase(loaded.pipeline, services)]),
  );
  const sum = (of: 'documents' | 'ru'): number => each.reduce((total, one) => total + one[of], 0);
  return { documents: sum('documents'), ru: sum('ru') };
}
