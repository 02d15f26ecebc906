// Which place each declaration of a pipeline over shards runs in. docs/adr/0051 has the reasons.
import type { Model, ShardedContainers } from '../model/model.ts';
import { ref, same } from './declaration.ts';
import { isEffect } from './kind-facts.ts';
import type {
  ArchiveSpec,
  CustomSpec,
  DerivedSpec,
  EffectSpec,
  IngestSpec,
  Pipeline,
  PipelinePart,
  ProjectionSpec,
  PublishSpec,
  SourceRef,
} from './specs.ts';

export type PlaceKind = PipelinePart['place'];

/** Where a container is: spread over the shards, in full in each of them, or in the global place. */
export type Whereabouts = 'sharded' | 'reference' | 'global';

/** A declaration that no place can run, and what to do. */
export interface Misplaced {
  readonly why: string;
  readonly hint: string;
}

/** What the document states of the pipeline's shard map. Undefined: the pipeline has none, or the document doesn't state it. */
export function shardedContainers({ shards }: Pick<Pipeline, 'shards'>, model: Model): ShardedContainers | undefined {
  const { shardMaps: maps = [] } = model;
  if (!shards) return undefined;
  const named = maps.find(({ name }) => name?.toLowerCase() === shards.map.toLowerCase());
  return named ?? (maps.every(({ name }) => name === undefined) ? maps[0] : undefined);
}

export const whereIs = ({ sharded, reference }: ShardedContainers, container: string): Whereabouts =>
  Object.hasOwn(sharded, container) ? 'sharded' : reference.includes(container) ? 'reference' : 'global';

/** The place whose hosts run a declaration. For a shard: each shard's hosts, with the documents of theirs. */
export function specPlaceOf(
  spec: DerivedSpec | IngestSpec,
  pipeline: Pick<Pipeline, 'projections'>,
  schema: ShardedContainers,
): PlaceKind | Misplaced {
  const where = ({ container }: SourceRef): Whereabouts => whereIs(schema, container);
  if (spec.kind === 'custom') return ofCustom(spec, where);
  if (isEffect(spec) || spec.kind === 'publish') return ofEffect(spec, pipeline, where(spec.from));
  switch (spec.kind) {
    case 'copy':
    case 'aggregate':
      return ofProjection(spec, pipeline, where);
    case 'reference': {
      const places = [where(spec.from), where(spec.tenants), where(spec.into)];
      if (places.every((one) => one === 'global')) return 'global';
      if (places[0] !== 'sharded' && places[1] === 'sharded' && places[2] === 'sharded') return 'shard';
      return {
        why: `It copies ${ref(spec.from)} to the tenants of ${ref(spec.tenants)} in ${ref(spec.into)}, and these are not in one place`,
        hint: 'Take its documents from the global place or from a reference container, and the tenants and its sink from sharded containers.',
      };
    }
    case 'embed': {
      const [from, into] = [where(spec.from), where(spec.into)];
      if (from === 'global' && into === 'global') return 'global';
      if (from !== 'global' && into === 'sharded') return 'shard';
      return {
        why: `It embeds ${ref(spec.from)} into ${ref(spec.into)}, which are not in one place`,
        hint: 'Keep the parents in every shard by a copy into a reference container, and embed from there.',
      };
    }
    case 'ingest':
      // Hosts of the global place read the hub, and write each document into the shard of its key.
      if (where(spec.into) !== 'reference') return 'global';
      return {
        why: `Every shard has ${ref(spec.into)}, and an event becomes one document`,
        hint: 'Ingest into a container of the global place, and keep the reference container by a copy of it.',
      };
    case 'archive':
  }
  spec satisfies ArchiveSpec;
  if (where(spec.from) !== 'reference') return where(spec.from) === 'global' ? 'global' : 'shard';
  return {
    why: `Every shard has ${ref(spec.from)}, and would archive it for itself`,
    hint: 'Declare it for the documents of the global place that the reference container is kept from.',
  };
}

/** What takes effect outside, tables too: the rows of all shards are in one database. */
function ofEffect(
  spec: Exclude<EffectSpec, CustomSpec> | PublishSpec,
  { projections }: Pick<Pipeline, 'projections'>,
  from: Whereabouts,
): PlaceKind | Misplaced {
  if (from === 'global') return 'global';
  if (from === 'sharded') return derivedInShards(spec, projections) ?? 'shard';
  return {
    why: `Every shard has ${ref(spec.from)}, so it would take effect once for each shard`,
    hint: 'Declare it for the documents of the global place that the reference container is kept from.',
  };
}

function ofCustom({ sources }: CustomSpec, where: (of: SourceRef) => Whereabouts): PlaceKind | Misplaced {
  if (sources.every((source) => where(source) === 'global')) return 'global';
  return {
    why: 'A move of keys gives each shard’s hosts changes that no application wrote, and Millrace doesn’t know what a custom projection has written for which shard',
    hint: 'Copy what it reads into a container of the global place, with `into: global(…)`, and let it read that one.',
  };
}

function ofProjection(
  spec: Exclude<ProjectionSpec, { kind: 'reference' }>,
  { projections }: Pick<Pipeline, 'projections'>,
  where: (of: SourceRef) => Whereabouts,
): PlaceKind | Misplaced {
  const joins = spec.kind === 'copy' ? spec.joins : [];
  const [from, into] = [where(spec.from), where(spec.into)];
  if (spec.toGlobal && into !== 'global')
    return {
      why: `It writes into global(…), but ${spec.into.container} is in the shards`,
      hint: 'Remove global(…), or take the container out of the shard map’s section.',
    };
  const apart = joins.find(({ of }) => (where(of) === 'global') !== (from === 'global'));
  if (apart)
    return {
      why: `It joins ${ref(apart.of)}, which is not in the place of ${ref(spec.from)}`,
      hint: 'Keep the joined documents in every shard by a copy into a reference container, and join those.',
    };
  if (from === 'global' && into === 'global') return 'global';
  if (from === 'global' && into === 'reference' && spec.kind === 'copy' && joins.length === 0) return 'shard';
  if (from === 'sharded' && into === 'sharded') return 'shard';
  if (from === 'reference' && into === 'reference' && joins.every(({ of }) => where(of) === 'reference'))
    return 'shard';
  if (from === 'sharded' && into === 'global') return intoGlobal(spec, joins.length, projections);
  return {
    why: `It writes ${ref(spec.into)} (${into}) from ${ref(spec.from)} (${from})`,
    hint: 'A reference container is kept by a copy, without joins, from the global place. The global place is written from sharded containers and from the global place; a sharded container from sharded ones.',
  };
}

/** The documents of all shards together in one place. */
function intoGlobal(
  spec: Exclude<ProjectionSpec, { kind: 'reference' }>,
  joins: number,
  projections: readonly ProjectionSpec[],
): PlaceKind | Misplaced {
  if (!spec.toGlobal)
    return {
      why: `Its sink ${spec.into.container} is in no shard`,
      hint: `Write \`into: global(…)\`, or add ${spec.into.container} to the sharded containers of the shard map.`,
    };
  if (joins > 0)
    return {
      why: 'A copy into the global place can’t join documents of the shards',
      hint: 'Copy the fields that the document has itself, or keep the joined copy in the shards.',
    };
  return derivedInShards(spec, projections) ?? 'shard';
}

/** Why documents that projections derive in each shard can't come together, or take effect outside. */
function derivedInShards(
  { from }: { readonly from: SourceRef },
  projections: readonly ProjectionSpec[],
): Misplaced | undefined {
  const writer = projections.find((one) => same(one.into, from));
  return (
    writer && {
      why: `${writer.name} derives ${ref(from)} in each shard. When a key moves, its documents are derived on the other shard again, and their versions are not comparable`,
      hint: `Derive it from the source of ${writer.name}.`,
    }
  );
}

/**
 * The declarations that hosts of one place run. A pipeline without shards is its own part. Only for a pipeline that was
 * checked: what no place can run is left out.
 */
export function partOf(pipeline: Pipeline, model: Model, place: PlaceKind): Pipeline {
  const schema = shardedContainers(pipeline, model);
  if (!schema || pipeline.part) return pipeline;
  const here = (spec: DerivedSpec | IngestSpec): boolean => specPlaceOf(spec, pipeline, schema) === place;
  const inShards = new Set([...Object.keys(schema.sharded), ...schema.reference]);
  return {
    ...pipeline,
    part: { place, whole: pipeline, inShards },
    projections: pipeline.projections.filter(here),
    embeds: pipeline.embeds.filter(here),
    effects: pipeline.effects.filter(here),
    archives: pipeline.archives.filter(here),
    publishes: pipeline.publishes.filter(here),
    ingests: pipeline.ingests.filter(here),
  };
}

/** The pipeline as if all of its documents were in one place. */
export function inOnePlace(declared: Pipeline): Pipeline {
  const { shards: _, ...pipeline } = declared;
  const projections = pipeline.projections.map(({ toGlobal: __, ...spec }) => spec as ProjectionSpec);
  return { ...pipeline, projections };
}

/** The whole pipeline that a part belongs to; a whole one is its own. */
export const wholeOf = (pipeline: Pipeline): Pipeline => pipeline.part?.whole ?? pipeline;

/** The containers of the model that a place has. A whole pipeline over shards has those of the global place. */
export function containersHere(pipeline: Pipeline, model: Model): Model['containers'] {
  const schema = shardedContainers(pipeline, model);
  if (!schema) return model.containers;
  const inShards = pipeline.part?.place === 'shard';
  return model.containers.filter(({ name }) => (whereIs(schema, name) !== 'global') === inShards);
}

/** Whether a part's projection or table is compared with the documents of all shards, in the global place. */
export const joinsShards = (spec: DerivedSpec, { part }: Pick<Pipeline, 'part'>): boolean =>
  part !== undefined &&
  (spec.kind === 'table' || ('toGlobal' in spec && spec.toGlobal)) &&
  part.inShards.has(spec.from.container);
