import { ChangeFeedMode, ChangeFeedStartFrom, type ContainerDefinition as Container } from '@azure/cosmos';
import { MillraceError, messageOf } from '../../base/errors.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { allVersionsContainers } from '../../pipeline/all-versions.ts';
import { indexNeeds } from '../../pipeline/index-needs.ts';
import { projectionId } from '../../pipeline/specs.ts';
import { feedReaders, sourcesOf } from '../../pipeline/pipeline.ts';
import { Fingerprints, fingerprinted } from '../../engine/guard-fingerprints.ts';
import { type ContainerDefinition, diffContainer } from '../../model/container-definitions.ts';
import { wantedContainers } from '../../procedures/apply/apply.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { existingContainers } from '../../runtime/existing-containers.ts';

/**
 * A container that differs from what the pipeline needs, or a projection whose declaration differs from the one that
 * wrote its container.
 */
export interface DeclarationDifference {
  readonly container: string;
  /** The projection whose declaration changed under the same version; absent if the container differs. */
  readonly projection?: string;
  readonly what: string;
  /** True: a projection on it would do nothing, or something wrong, and is held. False: for information. */
  readonly holds: boolean;
  /** True: hosts wait with every change of its source until it is corrected. */
  readonly waits?: true;
}

export interface HttpComparison {
  readonly differences: readonly DeclarationDifference[];
  /** The held projections, which apply no changes until the difference is fixed: the reason by `name@version`. */
  readonly held: ReadonlyMap<string, string>;
}

type Loaded = Pick<LoadedPipeline, 'pipeline' | 'model'>;

/**
 * Compares the deployment with the pipeline's needs: containers, their keys, expiry and indexes. Compares also the
 * declaration of each projection with the one that wrote its data.
 */
export async function compareDeployed(loaded: Loaded, services: Services): Promise<HttpComparison> {
  const [deployed, unreadable, redeclared] = await Promise.all([
    containersThatDiffer(loaded, services),
    unreadableFeeds(loaded.pipeline, services),
    redeclaredUnder(loaded, services),
  ]);
  const differences = [...deployed, ...unreadable];
  const bad = Map.groupBy(
    differences.filter(({ holds }) => holds),
    ({ container }) => container,
  );
  const held = new Map<string, string>();
  // Every projection needs Millrace's own containers.
  const { place, global } = services;
  const own = new Set([global.leases.id, place.state.id, global.state.id]);
  const ours = [...own].flatMap((id) => bad.get(id) ?? []);
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

/**
 * Tables that hosts can't write. Another error than these, such as a server that doesn't answer, is said without its text:
 * it may hold an address.
 */
export async function tablesThatDiffer({ pipeline }: Loaded, signal: AbortSignal): Promise<DeclarationDifference[]> {
  const found = await Promise.all(
    pipeline.effects.map(async (spec): Promise<DeclarationDifference[]> => {
      if (spec.kind !== 'table') return [];
      const at = { container: spec.table, projection: projectionId(spec), holds: false, waits: true } as const;
      try {
        return ((await spec.to.faults?.(signal)) ?? []).map(({ what, hint }) => ({ ...at, what: `${what}. ${hint}` }));
      } catch {
        return [{ ...at, what: 'PostgreSQL does not answer as expected. Run `millrace doctor` to see why.' }];
      }
    }),
  );
  return found.flat();
}

/** Projections whose declaration changed under the same version: another build wrote the data. */
async function redeclaredUnder(loaded: Loaded, { global: { state } }: Services): Promise<DeclarationDifference[]> {
  const fingerprints = new Fingerprints(state, loaded);
  const found = await Promise.all(
    fingerprinted(loaded.pipeline).map(async (spec): Promise<DeclarationDifference[]> => {
      const changed = await fingerprints.changes(spec);
      if (changed.length === 0) return [];
      const projection = projectionId(spec);
      const what = `${projection} no longer matches the data this version has written: ${changed.join('; ')}`;
      const container = spec.kind === 'table' ? spec.table : spec.into.container;
      return [{ container, projection, what, holds: true }];
    }),
  );
  return found.flat();
}

/**
 * All-versions feeds that the service refuses to read: the account or the container lacks them. The app's role can't read
 * the account's properties, so this asks the feed itself.
 */
async function unreadableFeeds(
  { sources }: Loaded['pipeline'],
  { place: { database } }: Services,
): Promise<DeclarationDifference[]> {
  const asked = [...allVersionsContainers(sources)].map(async (container): Promise<DeclarationDifference[]> => {
    const feed = database.container(container).items.getChangeFeedIterator({
      changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes,
      changeFeedStartFrom: ChangeFeedStartFrom.Now(),
    });
    try {
      await withRetry(() => feed.readNext(), { reads: true });
      return [];
    } catch (error) {
      const { kind, status } = failureOf(error);
      // A missing container is reported elsewhere.
      if (kind === 'not-found') return [];
      if (status !== 400) throw error;
      return [{ container, what: "its all-versions feed can't be read", holds: true }];
    }
  });
  return (await Promise.all(asked)).flat();
}

async function containersThatDiffer({ pipeline, model }: Loaded, services: Services): Promise<DeclarationDifference[]> {
  const needs = indexNeeds([...pipeline.projections, ...pipeline.embeds]);
  const wanted = wantedContainers({ pipeline, model }, services);
  const databases = [...new Set(wanted.map(({ database }) => database))];
  const there = new Map(
    await Promise.all(databases.map(async (database) => [database, await existingContainers(database)] as const)),
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
  const { partitionKey, indexingPolicy, defaultTtl, uniqueKeyPolicy, changeFeedPolicy } = container;
  return {
    id,
    partitionKey: { paths: partitionKey?.paths ?? [], kind: 'Hash', version: 2 },
    ...(indexingPolicy && { indexingPolicy: indexingPolicy as NonNullable<ContainerDefinition['indexingPolicy']> }),
    ...(defaultTtl !== undefined && { defaultTtl }),
    ...(uniqueKeyPolicy && { uniqueKeyPolicy }),
    ...(changeFeedPolicy && { changeFeedPolicy }),
  };
}

function differencesOf(
  existing: ContainerDefinition | undefined,
  wanted: ContainerDefinition,
  needed: ReadonlySet<string>,
): DeclarationDifference[] {
  const container = wanted.id;
  if (!existing) return [{ container, what: 'does not exist', holds: true }];
  return diffContainer(existing, withoutThroughput(wanted)).map(({ what, from, to }) => ({
    container,
    what:
      what === 'indexingPolicy'
        ? 'has another indexing policy'
        : `${what} is ${JSON.stringify(from) ?? 'not set'}, not ${JSON.stringify(to) ?? 'unset'}`,
    // Keys are in every request. Without expiry tombstones stay forever, and without its indexes Millrace's queries fail.
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

/** An error as health reports it: code, message and hint. */
export const problemOf = (error: unknown): { code: string; message: string; hint?: string } =>
  error instanceof MillraceError
    ? { code: error.code, message: error.message, ...(error.hint === undefined ? {} : { hint: error.hint }) }
    : { code: 'unexpected', message: messageOf(error) };
