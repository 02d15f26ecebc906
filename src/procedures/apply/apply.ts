import type { Container, ContainerDefinition as ServiceDefinition, Database } from '@azure/cosmos';
import { failureOf } from '../../cosmos/failure.ts';
import { assertPlain } from '../../cosmos/plain-container.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { allVersionsContainers } from '../../pipeline/all-versions.ts';
import { indexNeeds } from '../../pipeline/index-needs.ts';
import { containersHere, wholeOf } from '../../pipeline/places.ts';
import type { Pipeline } from '../../pipeline/specs.ts';
import {
  type ContainerChange,
  type ContainerDefinition,
  RETENTION_MIN,
  containerDefinitions,
  diffContainer,
} from '../../model/container-definitions.ts';
import type { Model } from '../../model/model.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import type { ApplyStep } from './step.ts';
import { operationsError } from '../errors.ts';

/** Leases: the key and time to live that the Functions trigger needs. State: keyed by `pk`; tombstones expire. */
export const ownContainer = (kind: 'leases' | 'state', id: string): ContainerDefinition => ({
  id,
  partitionKey: { paths: [kind === 'leases' ? '/id' : '/pk'], kind: 'Hash', version: 2 },
  defaultTtl: -1,
});

/** The model's containers, with the indexes, settings and change feed policies that the pipeline's projections need. */
export function modelContainers({ pipeline, model }: { pipeline: Pipeline; model: Model }): ContainerDefinition[] {
  // Hosts of the shards write into the global place too, so the needs are those of the whole pipeline.
  const { projections, embeds } = wholeOf(pipeline);
  const needs = indexNeeds([...projections, ...embeds]);
  const sinks = new Set(projections.map(({ into }) => into.container));
  const allVersions = allVersionsContainers(pipeline.sources);
  return containerDefinitions({ ...model, containers: containersHere(pipeline, model) }, needs, sinks).map(
    (definition) =>
      allVersions.has(definition.id)
        ? { ...definition, changeFeedPolicy: { retentionDuration: RETENTION_MIN } }
        : definition,
  );
}

/** The containers that a pipeline needs: its model's, and Millrace's own for leases and state. */
export function wantedContainers(
  loaded: { pipeline: Pipeline; model: Model },
  { place, global }: Services,
): { database: Database; definition: ContainerDefinition }[] {
  const { database, state } = place;
  const wanted = modelContainers(loaded).map((definition) => ({ database, definition }));
  const apart = global.state === state ? [] : [global.state];
  const ours = [
    { database: global.leaseDatabase, definition: ownContainer('leases', global.leases.id) },
    { database, definition: ownContainer('state', state.id) },
    ...apart.map((of) => ({ database: of.database, definition: ownContainer('state', of.id) })),
  ];
  const clash = ours.find(
    (of) => of.database === database && wanted.some(({ definition }) => definition.id === of.definition.id),
  );
  if (clash) {
    throw operationsError(
      'container-reserved',
      `The model has a container ${clash.definition.id}, but Millrace uses that name for its own documents`,
    );
  }
  return [...wanted, ...ours];
}

/**
 * The steps that make the account agree with the model; none if it already does.
 * @throws UsageError `change-impossible`, with every change that Cosmos DB can't make to an existing container
 */
export const planModel = async (
  loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
): Promise<ApplyStep[]> => planContainers(wantedContainers(loaded, services));

/** The steps for the state container alone: an operation may need its lock before it changes anything else. */
export const planState = ({ place: { database, state } }: Services): Promise<ApplyStep[]> =>
  planContainers([{ database, definition: ownContainer('state', state.id) }]);

/** The steps that make databases and containers agree with definitions. @throws UsageError `change-impossible` */
export async function planContainers(
  wanted: readonly { readonly database: Database; readonly definition: ContainerDefinition }[],
): Promise<ApplyStep[]> {
  const steps: ApplyStep[] = [];
  const absent = new Set<Database>();
  for (const database of new Set(wanted.map((of) => of.database))) {
    if (await found(() => database.read())) continue;
    absent.add(database);
    steps.push({
      say: `create database ${database.id}`,
      apply: () => database.client.databases.createIfNotExists({ id: database.id }),
    });
  }
  const impossible: string[] = [];
  for (const { database, definition } of wanted) {
    const container = database.container(definition.id);
    const existing = absent.has(database)
      ? undefined
      : await readDefinition(container, definition.throughput !== undefined);
    if (!existing) {
      steps.push({ say: `create container ${describe(definition)}`, apply: () => create(database, definition) });
      continue;
    }
    const changes = diffContainer(existing, definition);
    impossible.push(
      ...changes.filter(({ possible }) => !possible).map((change) => `${definition.id}: ${sayChange(change)}`),
    );
    if (changes.length === 0) continue;
    steps.push({
      say: `change container ${definition.id}: ${changes.map(sayChange).join(', ')}`,
      apply: () => update(container, definition, changes),
    });
  }
  if (impossible.length > 0) {
    throw operationsError(
      'change-impossible',
      `Cosmos DB can't change these properties of an existing container:\n${impossible.map((line) => `  - ${line}`).join('\n')}`,
    );
  }
  return steps;
}

/** The definition of a container, with its throughput on request; undefined if there is no such container. */
export async function readDefinition(
  container: Container,
  withThroughput: boolean,
): Promise<ContainerDefinition | undefined> {
  const resource = await found(() => container.read());
  if (!resource) return undefined;
  assertPlain(resource);
  const { id, partitionKey, indexingPolicy, defaultTtl, uniqueKeyPolicy, changeFeedPolicy, vectorEmbeddingPolicy } =
    resource;
  const throughput = withThroughput ? await readThroughput(container) : undefined;
  return {
    id,
    partitionKey: {
      paths: partitionKey?.paths ?? [],
      kind: (partitionKey?.paths.length ?? 1) > 1 ? 'MultiHash' : 'Hash',
      version: 2,
    },
    ...(indexingPolicy ? { indexingPolicy: indexingPolicy as NonNullable<ContainerDefinition['indexingPolicy']> } : {}),
    ...(defaultTtl === undefined ? {} : { defaultTtl }),
    ...(uniqueKeyPolicy ? { uniqueKeyPolicy } : {}),
    ...(changeFeedPolicy ? { changeFeedPolicy } : {}),
    ...(vectorEmbeddingPolicy ? { vectorEmbeddingPolicy } : {}),
    ...(throughput ? { throughput } : {}),
  };
}

/** Undefined if the container shares its database's throughput, or the account is serverless. */
async function readThroughput(container: Container): Promise<ContainerDefinition['throughput']> {
  const offer = await found(() => container.readOffer());
  const content = offer?.content;
  const max = content?.offerAutopilotSettings?.maxThroughput;
  if (max !== undefined) return { kind: 'autoscale', max };
  return content?.offerThroughput === undefined ? undefined : { kind: 'manual', max: content.offerThroughput };
}

async function found<T>(read: () => Promise<{ readonly resource?: T }>): Promise<T | undefined> {
  try {
    return (await withRetry(read, { reads: true })).resource;
  } catch (error) {
    if (failureOf(error).kind === 'not-found') return undefined;
    throw error;
  }
}

async function create(database: Database, { throughput, ...definition }: ContainerDefinition): Promise<void> {
  const offer =
    throughput?.kind === 'autoscale'
      ? { maxThroughput: throughput.max }
      : throughput
        ? { throughput: throughput.max }
        : {};
  await database.containers.createIfNotExists({ ...(definition as ServiceDefinition), ...offer });
}

async function update(
  container: Container,
  wanted: ContainerDefinition,
  changes: readonly ContainerChange[],
): Promise<void> {
  if (changes.some(({ what }) => what !== 'throughput')) {
    const { resource } = await container.read();
    const { throughput: _, ...definition } = wanted;
    await container.replace({ ...resource, ...(definition as ServiceDefinition) });
  }
  if (wanted.throughput && changes.some(({ what }) => what === 'throughput')) {
    const { resource, offer } = await container.readOffer();
    if (!resource || !offer) return;
    const { kind, max } = wanted.throughput;
    const content =
      kind === 'autoscale' ? { offerAutopilotSettings: { maxThroughput: max } } : { offerThroughput: max };
    await offer.replace({ ...resource, content: { ...resource.content, ...content } as never });
  }
}

const describe = ({ id, partitionKey, defaultTtl, changeFeedPolicy, throughput }: ContainerDefinition): string =>
  [
    `${id}, key ${partitionKey.paths.join(' ')}`,
    ...(defaultTtl === undefined ? [] : [defaultTtl === -1 ? 'TTL on' : `TTL ${defaultTtl} s`]),
    ...(changeFeedPolicy ? [`all versions for ${changeFeedPolicy.retentionDuration / 1_440} days`] : []),
    ...(throughput ? [`${throughput.kind} ${throughput.max.toLocaleString('en-US')} RU/s`] : []),
  ].join(', ');

const sayChange = ({ what, from, to }: ContainerChange): string =>
  what === 'indexingPolicy'
    ? 'another indexing policy'
    : `${what} from ${JSON.stringify(from) ?? 'none'} to ${JSON.stringify(to) ?? 'none'}`;
