// What a comparison in one place of a pipeline over shards reads, and where.
import type { Container, Database } from '@azure/cosmos';
import { joinsShards, partOf, wholeOf } from '../../pipeline/places.ts';
import type { EffectSpec, OutsideSpec, Pipeline, ProjectionSpec } from '../../pipeline/specs.ts';
import { placeDatabase } from '../../runtime/place-containers.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';

type Loaded = Pick<LoadedPipeline, 'pipeline' | 'model'>;

/**
 * The pipeline as it is compared in a place. A projection of all shards into the global place is compared there, with the
 * documents of all shards.
 */
export function comparedHere(pipeline: Pipeline): Pipeline {
  const { part } = pipeline;
  if (!part) return pipeline;
  const together = (spec: ProjectionSpec): boolean => joinsShards(spec, pipeline);
  const isTogether = (spec: EffectSpec): boolean => spec.kind === 'table' && joinsShards(spec, pipeline);
  const effects = pipeline.effects.filter((spec) => !isTogether(spec));
  const own = pipeline.projections.filter((spec) => !together(spec));
  return part.place === 'shard'
    ? { ...pipeline, projections: own, effects }
    : {
        ...pipeline,
        projections: [...own, ...part.whole.projections.filter(together)],
        effects: [...effects, ...part.whole.effects.filter(isTogether)],
        // What the shards have archived counts too.
        archives: part.whole.archives,
      };
}

/** The databases that have documents of a container: for one of the shards, seen from the global place, every shard's. */
export async function databasesOf(
  pipeline: Pipeline,
  services: Services,
): Promise<(container: string) => readonly Database[]> {
  const own = [placeDatabase(pipeline, services)];
  if (!isOverShards(pipeline, services)) return () => own;
  const shards = (await services.shards()).map(({ place }) => place.database);
  return (container) => (pipeline.part?.inShards.has(container) ? shards : own);
}

/** The state containers with the dead letters of a projection. */
export async function letterStates(
  spec: ProjectionSpec | OutsideSpec,
  pipeline: Pipeline,
  services: Services,
): Promise<readonly Container[]> {
  const isTogether = spec.kind !== 'send' && joinsShards(spec, pipeline);
  if (!isTogether || !isOverShards(pipeline, services)) return [services.place.state];
  return (await services.shards()).map(({ place }) => place.state);
}

/** The places whose hosts read a container for the comparison of this place, each with its part. */
export async function projectionReadersOf(
  { pipeline, model }: Loaded,
  services: Services,
  container: string,
): Promise<readonly { readonly loaded: Loaded; readonly services: Services }[]> {
  if (!isOverShards(pipeline, services) || !pipeline.part?.inShards.has(container))
    return [{ loaded: { pipeline, model }, services }];
  const loaded = { pipeline: partOf(wholeOf(pipeline), model, 'shard'), model };
  return (await services.shards()).map((shard) => ({ loaded, services: shard }));
}

const isOverShards = (
  pipeline: Pipeline,
  services: Services,
): services is Services & Required<Pick<Services, 'shards'>> =>
  pipeline.part?.place === 'global' && services.shards !== undefined;
