import type { ContainerDefinition as Container } from '@azure/cosmos';
import { MillraceError, messageOf } from '../../base/errors.ts';
import { indexNeeds } from '../../definition/index-needs.ts';
import { projectionId } from '../../definition/specs.ts';
import { feedReaders, sourcesOf } from '../../definition/pipeline.ts';
import { Fingerprints } from '../../engine/fingerprints.ts';
import { type ContainerDefinition, diffContainer } from '../../model/apply.ts';
import { wantedContainers } from '../../operations/model/apply.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { containersThere } from '../../runtime/containers-there.ts';

/** A container that isn't as the pipeline needs it, or a projection that isn't what its container was written by. */
export interface Difference {
  readonly container: string;
  /** The one that was declared otherwise under its version; absent where the container is what differs. */
  readonly projection?: string;
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

/**
 * Compares what is deployed with what the pipeline needs: containers, their keys, expiry and indexes; and what each
 * projection is declared as with what it was when it wrote what is there.
 */
export async function compareDeployed(loaded: Loaded, services: Services): Promise<Comparison> {
  const [differences, redeclared] = await Promise.all([
    containersThatDiffer(loaded, services),
    redeclaredUnder(loaded, services),
  ]);
  const bad = Map.groupBy(
    differences.filter(({ holds }) => holds),
    ({ container }) => container,
  );
  const held = new Map<string, string>();
  // What Millrace keeps beside them serves every projection.
  const ours = [services.leases.id, services.state.id].flatMap((id) => bad.get(id) ?? []);
  for (const spec of feedReaders(loaded.pipeline)) {
    const id = projectionId(spec);
    const used = new Set(
      [...sourcesOf(spec), ...('into' in spec ? [spec.into] : [])].map(({ container }) => container),
    );
    const why = [
      ...[...used].flatMap((container) => bad.get(container) ?? []),
      ...ours,
      ...redeclared.filter(({ projection }) => projection === id),
    ];
    if (why.length > 0) held.set(id, why.map(({ container, what }) => `${container}: ${what}`).join('; '));
  }
  return { differences: [...differences, ...redeclared], held };
}

/** Versions that stayed the same while their declaration changed: what is deployed is another build's. */
async function redeclaredUnder(loaded: Loaded, { state }: Services): Promise<Difference[]> {
  const fingerprints = new Fingerprints(state, loaded);
  const { projections, embeds } = loaded.pipeline;
  const found = await Promise.all(
    [...projections, ...embeds].map(async (spec): Promise<Difference[]> => {
      const changed = await fingerprints.changes(spec);
      if (changed.length === 0) return [];
      const projection = projectionId(spec);
      const what = `${projection} is declared otherwise than what it has written: ${changed.join('; ')}`;
      return [{ container: spec.into.container, projection, what, holds: true }];
    }),
  );
  return found.flat();
}

async function containersThatDiffer({ pipeline, model }: Loaded, services: Services): Promise<Difference[]> {
  const needs = indexNeeds([...pipeline.projections, ...pipeline.embeds]);
  const wanted = wantedContainers({ pipeline, model }, services);
  const databases = [...new Set(wanted.map(({ database }) => database))];
  const there = new Map(
    await Promise.all(databases.map(async (database) => [database, await containersThere(database)] as const)),
  );
  return wanted.flatMap(({ database, definition }) =>
    differencesOf(
      definitionOf(definition.id, there.get(database)?.get(definition.id)),
      definition,
      needs.get(definition.id) ?? new Set(),
    ),
  );
}

function definitionOf(id: string, container: Container | undefined): ContainerDefinition | undefined {
  if (!container) return undefined;
  const { partitionKey, indexingPolicy, defaultTtl, uniqueKeyPolicy } = container;
  return {
    id,
    partitionKey: { paths: partitionKey?.paths ?? [], kind: 'Hash', version: 2 },
    ...(indexingPolicy && { indexingPolicy: indexingPolicy as NonNullable<ContainerDefinition['indexingPolicy']> }),
    ...(defaultTtl !== undefined && { defaultTtl }),
    ...(uniqueKeyPolicy && { uniqueKeyPolicy }),
  };
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
