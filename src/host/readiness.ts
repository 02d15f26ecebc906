import type { Container } from '@azure/cosmos';
import { MillraceError, messageOf } from '../base/errors.ts';
import { failureOf } from '../cosmos/failure.ts';
import { withRetry } from '../cosmos/retry.ts';
import { indexNeeds } from '../definition/index-needs.ts';
import { projectionId } from '../definition/kinds.ts';
import { feedReaders, sourcesOf } from '../definition/pipeline.ts';
import { type ContainerDefinition, diffContainer } from '../model/apply.ts';
import { wantedContainers } from '../operations/model/apply.ts';
import type { LoadedPipeline, Services } from '../operations/workspace.ts';

/** A container that isn't as the pipeline needs it. */
export interface Difference {
  readonly container: string;
  readonly what: string;
  /** True: a projection on it would do nothing, or something wrong, and is held. False: worth knowing. */
  readonly holds: boolean;
}

export interface Comparison {
  readonly differences: readonly Difference[];
  /** Projections that get no changes applied until it is mended, and why: by `name@version`. */
  readonly held: ReadonlyMap<string, string>;
}

type Loaded = Pick<LoadedPipeline, 'pipeline' | 'model'>;

/** Compares what is deployed with what the pipeline needs: containers, their keys, expiry and indexes. */
export async function compareDeployed({ pipeline, model }: Loaded, services: Services): Promise<Comparison> {
  const needs = indexNeeds([...pipeline.projections, ...pipeline.embeds]);
  const wanted = wantedContainers({ pipeline, model }, services);
  const differences = (
    await Promise.all(
      wanted.map(async ({ database, definition }) =>
        differencesOf(
          await readDefinition(database.container(definition.id)),
          definition,
          needs.get(definition.id) ?? new Set(),
        ),
      ),
    )
  ).flat();
  const bad = Map.groupBy(
    differences.filter(({ holds }) => holds),
    ({ container }) => container,
  );
  const held = new Map<string, string>();
  // What Millrace keeps beside them serves every projection.
  const ours = [services.leases.id, services.state.id].flatMap((id) => bad.get(id) ?? []);
  for (const spec of feedReaders(pipeline)) {
    const used = new Set(
      [...sourcesOf(spec), ...('into' in spec ? [spec.into] : [])].map(({ container }) => container),
    );
    const why = [...[...used].flatMap((container) => bad.get(container) ?? []), ...ours];
    if (why.length > 0)
      held.set(projectionId(spec), why.map(({ container, what }) => `${container}: ${what}`).join('; '));
  }
  return { differences, held };
}

/** As the service has it; undefined where there is none. Throughput isn't asked for: the app's role may not read it. */
async function readDefinition(container: Container): Promise<ContainerDefinition | undefined> {
  try {
    const { resource } = await withRetry(() => container.read(), { reads: true });
    if (!resource) return undefined;
    const { id, partitionKey, indexingPolicy, defaultTtl, uniqueKeyPolicy } = resource;
    return {
      id,
      partitionKey: { paths: partitionKey?.paths ?? [], kind: 'Hash', version: 2 },
      ...(indexingPolicy && { indexingPolicy: indexingPolicy as NonNullable<ContainerDefinition['indexingPolicy']> }),
      ...(defaultTtl !== undefined && { defaultTtl }),
      ...(uniqueKeyPolicy && { uniqueKeyPolicy }),
    };
  } catch (error) {
    if (failureOf(error).kind === 'not-found') return undefined;
    throw error;
  }
}

function differencesOf(
  existing: ContainerDefinition | undefined,
  wanted: ContainerDefinition,
  needed: ReadonlySet<string>,
): Difference[] {
  const container = wanted.id;
  if (!existing) return [{ container, what: 'does not exist', holds: true }];
  return diffContainer(existing, withoutThroughput(wanted)).map(({ what, from, to }) => ({
    container,
    what:
      what === 'indexingPolicy'
        ? 'has another indexing policy'
        : `${what} is ${JSON.stringify(from) ?? 'not set'}, not ${JSON.stringify(to) ?? 'unset'}`,
    // Keys are in every request. Without expiry tombstones stay for ever, and a missing index refuses our own queries.
    holds:
      what === 'partitionKey' ||
      what === 'uniqueKeyPolicy' ||
      (what === 'defaultTtl' && existing.defaultTtl === undefined) ||
      (what === 'indexingPolicy' && !isIndexed(existing, needed)),
  }));
}

function withoutThroughput(definition: ContainerDefinition): ContainerDefinition {
  const { throughput, ...rest } = definition;
  return throughput ? rest : definition;
}

function isIndexed({ indexingPolicy }: ContainerDefinition, needed: ReadonlySet<string>): boolean {
  const included = new Set((indexingPolicy?.includedPaths ?? [{ path: '/*' }]).map(({ path }) => path));
  return included.has('/*') || [...needed].every((path) => included.has(path));
}

/** An error of ours as it is reported: what happened, and how to mend it. */
export const problemOf = (error: unknown): { code: string; message: string; mend?: string } =>
  error instanceof MillraceError
    ? { code: error.code, message: error.message, ...(error.mend === undefined ? {} : { mend: error.mend }) }
    : { code: 'unexpected', message: messageOf(error) };
