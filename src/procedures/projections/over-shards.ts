// What a comparison in one place of a pipeline over shards reads, and where.
import type { Container, Database } from '@azure/cosmos';
import { joinsShards, partOf, wholeOf } from '../../pipeline/places.ts';
import type { DerivedSpec, OutsideSpec, Pipeline, ProjectionSpec } from '../../pipeline/specs.ts';
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
  const isTogether = (spec: DerivedSpec): boolean => joinsShards(spec, pipeline);
  const of = ({ projections, effects }: Pipeline, together: boolean) => ({
    projections: projections.filter((spec) => isTogether(spec) === together),
    effects: effects.filter((spec) => isTogether(spec) === together),
  });
  const own = of(pipeline, false);
  if (part.place === 'shard') return { ...pipeline, ...own };
  const all = of(part.whole, true);
  return {
    ...pipeline,
    projections: [...own.projections, ...all.projections],
    effects: [...own.effects, ...all.effects],
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
  const shards = (await shardsFrom(pipeline, services))?.map(({ place }) => place.database) ?? own;
  return (container) => (pipeline.part?.inShards.has(container) ? shards : own);
}

/** The state containers with the dead letters of a projection. */
export async function letterStates(
  spec: ProjectionSpec | OutsideSpec,
  pipeline: Pipeline,
  services: Services,
): Promise<readonly Container[]> {
  const shards = joinsShards(spec, pipeline) ? await shardsFrom(pipeline, services) : undefined;
  return (shards ?? [services]).map(({ place }) => place.state);
}

/** The places whose hosts read a container for the comparison of this place, each with its part. */
export async function projectionReadersOf(
  { pipeline, model }: Loaded,
  services: Services,
  container: string,
): Promise<readonly { readonly loaded: Loaded; readonly services: Services }[]> {
  const shards = pipeline.part?.inShards.has(container) ? await shardsFrom(pipeline, services) : undefined;
  if (!shards) return [{ loaded: { pipeline, model }, services }];
  const loaded = { pipeline: partOf(wholeOf(pipeline), model, 'shard'), model };
  return shards.map((shard) => ({ loaded, services: shard }));
}

/** Every shard, as the global place sees them. Undefined: this is another place. */
const shardsFrom = async ({ part }: Pipeline, services: Services): Promise<readonly Services[] | undefined> =>
  part?.place === 'global' ? services.shards?.() : undefined;
