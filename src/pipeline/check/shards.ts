import { type Model, type ShardedContainers, containerOf } from '../../model/model.ts';
import { about, error } from '../declaration.ts';
import { feedReaders } from '../pipeline.ts';
import { specPlaceOf, shardedContainers } from '../places.ts';
import type { Finding, Pipeline } from '../specs.ts';

/** Findings of a pipeline over shards: what no place can run, and what only a pipeline over shards may declare. */
export function checkShards(pipeline: Pipeline, model: Model): Finding[] {
  const { shards, projections } = pipeline;
  if (!shards) {
    return projections
      .filter(({ toGlobal }) => toGlobal)
      .flatMap(({ name }) =>
        about(name, [
          error(
            'global-without-shards',
            `Projection ${name} writes into global(…), but the pipeline has no shards`,
            "Remove global(…), or declare shards: shardMap('…').",
          ),
        ]),
      );
  }
  const schema = shardedContainers(pipeline, model);
  if (!schema) {
    const message = `The pipeline is over the shards of ${shards.map}, and ${model.file} places no container`;
    const hint =
      "State `shards: 'spread'` for the containers that are spread over the shards, and `shards: 'every'` for those that every shard has.";
    return [error('shard-map-undocumented', message, hint)];
  }
  const named = [...Object.keys(schema.sharded), ...schema.reference];
  const findings: Finding[] = named
    .filter((container) => !containerOf(model, container))
    .map((container) =>
      error(
        'container-unknown',
        `The shard map ${shards.map} names container ${container}, which ${model.file} doesn't have`,
        'Correct the name, or add the container to the model.',
      ),
    );
  findings.push(...keyFindings(pipeline, model, schema), ...tableFindings(pipeline, model, schema));
  for (const spec of [...feedReaders(pipeline), ...pipeline.ingests]) {
    const place = specPlaceOf(spec, pipeline, schema);
    if (typeof place === 'string') continue;
    const message = `Projection ${spec.name} can't run over shards. ${place.why}`;
    findings.push(...about(spec.name, [error('shards-place', message, place.hint)]));
  }
  for (const container of new Set(
    pipeline.sources.filter(({ feed }) => feed === 'all-versions').map((of) => of.container),
  ))
    if (named.includes(container))
      findings.push(
        error(
          'shards-all-versions',
          `The source() rules of ${container} name the all-versions feed, which shows a document that a move has removed from a shard like one that was deleted`,
          'Remove `feed`, and mark deleted documents.',
        ),
      );
  return findings;
}

/** Without the tenant in their keys, two documents of two shards may have one identity, and so one guard. */
function tableFindings({ tenant, effects }: Pipeline, model: Model, schema: ShardedContainers): Finding[] {
  return effects
    .filter((spec) => spec.kind === 'table')
    .filter(({ from }) => Object.hasOwn(schema.sharded, from.container))
    .filter(({ from }) => containerOf(model, from.container)?.partitionKey.includes(`/${tenant ?? ''}`) === false)
    .flatMap(({ name, from }) =>
      about(name, [
        error(
          'shards-place',
          `Projection ${name} can't run over shards. The tenant is no level of the partition key of ${from.container}, so documents of two shards may have one key and id`,
          'Let the tenant be a level of the partition key, or remove the table.',
        ),
      ]),
    );
}

/**
 * One shard has all documents of a tenant, and only then is what is derived there complete. Documents of several tenants
 * come together in the global place alone.
 */
function keyFindings({ tenant, projections, embeds }: Pipeline, model: Model, schema: ShardedContainers): Finding[] {
  const key = `/${tenant ?? ''}`;
  const other = Object.entries(schema.sharded).find(
    ([name, path]) => (path ?? containerOf(model, name)?.partitionKey[0] ?? key) !== key,
  );
  if (tenant === undefined || other)
    return [
      error(
        'shards-tenant',
        tenant === undefined
          ? 'The pipeline is over shards, and declares no tenant'
          : `The pipeline’s tenant is ${tenant}, and the shard map spreads ${other?.[0]} by another field`,
        'Declare `tenant`: the field by which the shard map spreads the documents.',
      ),
    ];
  return [...projections, ...embeds]
    .filter((spec) => spec.acrossTenants && Object.hasOwn(schema.sharded, spec.into.container))
    .flatMap(({ name }) =>
      about(name, [
        error(
          'shards-across-tenants',
          `Projection ${name} combines tenants in a container of the shards, and other tenants are on other shards`,
          'Write into global(…), or remove acrossTenants.',
        ),
      ]),
    );
}
