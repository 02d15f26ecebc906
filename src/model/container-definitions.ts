// The changes that `millrace model apply` makes, as data; the calls to Cosmos DB are elsewhere.
import { canonical } from '../base/json.ts';
import type { Container, IndexingPolicy, Model, VectorField } from './model.ts';
import { sharedError } from '../base/shared-errors.ts';

/** A container as Cosmos DB's API states it, with its throughput, which the API takes as a separate option. */
export interface ContainerDefinition {
  readonly id: string;
  readonly partitionKey: {
    readonly paths: readonly string[];
    readonly kind: 'Hash' | 'MultiHash';
    readonly version: 2;
  };
  readonly indexingPolicy?: IndexingPolicy;
  readonly defaultTtl?: number;
  readonly uniqueKeyPolicy?: { readonly uniqueKeys: readonly { readonly paths: readonly string[] }[] };
  /** Keeps every version and deletion for the all-versions feed, `retentionDuration` in minutes. */
  readonly changeFeedPolicy?: { readonly retentionDuration: number };
  readonly vectorEmbeddingPolicy?: { readonly vectorEmbeddings: readonly VectorField[] };
  readonly throughput?: Container['throughput'];
}

/** The retention of the all-versions feed, minutes: that of the shorter tier of continuous backup, seven days. */
export const RETENTION_MIN = 7 * 24 * 60;

/** Tombstones of removed rows expire by their own ttl, which works only if the container's TTL is on. */
const TTL_ON = -1;

/**
 * The containers of a model. `needs` are the index paths of Millrace's own queries, by container: they are added to a
 * policy that leaves them out. `sinks` are the containers with documents that Millrace writes: their TTL is switched on if
 * the document states none. Other containers keep theirs, because documents with a `ttl` would begin to expire.
 * @throws UsageError `model-wrong` for a container without a readable key
 */
export const containerDefinitions = (
  model: Model,
  needs: ReadonlyMap<string, ReadonlySet<string>>,
  sinks: ReadonlySet<string> = new Set(needs.keys()),
): ContainerDefinition[] =>
  model.containers.map((container) => {
    const { name, partitionKey, uniqueKeys, vectors, throughput } = container;
    const indexingPolicy = withPaths(container.indexingPolicy, needs.get(name) ?? new Set());
    if (partitionKey.length === 0 || partitionKey.length > 3) {
      const { file, line } = container.at;
      const why = `Container ${name} (${file}:${line}) has ${partitionKey.length === 0 ? 'no readable partition key' : 'more than three key levels'}`;
      throw sharedError('model-wrong', why, { hint: 'Write one to three paths under `- **Partition Key**:`.' });
    }
    const defaultTtl = container.defaultTtl ?? (sinks.has(name) ? TTL_ON : undefined);
    return {
      id: name,
      partitionKey: { paths: partitionKey, kind: partitionKey.length > 1 ? 'MultiHash' : 'Hash', version: 2 },
      ...(indexingPolicy && { indexingPolicy }),
      ...(defaultTtl !== undefined && { defaultTtl }),
      ...(uniqueKeys && { uniqueKeyPolicy: { uniqueKeys } }),
      ...(vectors && { vectorEmbeddingPolicy: { vectorEmbeddings: vectors } }),
      ...(throughput && { throughput }),
    };
  });

/** Without a policy of its own a container indexes every path. */
function withPaths(policy: IndexingPolicy | undefined, needed: ReadonlySet<string>): IndexingPolicy | undefined {
  if (!policy) return undefined;
  const included = policy.includedPaths ?? [];
  const known = new Set(included.map(({ path }) => path));
  const missing = known.has('/*') ? [] : [...needed].filter((path) => !known.has(path));
  return missing.length === 0
    ? policy
    : { ...policy, includedPaths: [...included, ...missing.map((path) => ({ path }))] };
}

export interface ContainerChange {
  readonly what:
    | 'partitionKey'
    | 'uniqueKeyPolicy'
    | 'indexingPolicy'
    | 'defaultTtl'
    | 'changeFeedPolicy'
    | 'throughput';
  readonly from: unknown;
  readonly to: unknown;
  /** False if Cosmos DB fixes it when the container is created: the change needs a new container and a migration. */
  readonly possible: boolean;
}

/** The changes that make `existing` like `wanted`. What the document doesn't state stays unchanged. */
export function diffContainer(existing: ContainerDefinition, wanted: ContainerDefinition): ContainerChange[] {
  const changes: ContainerChange[] = [];
  const compare = (what: ContainerChange['what'], possible: boolean, form: (of: ContainerDefinition) => unknown) => {
    if (canonical(form(existing)) !== canonical(form(wanted))) {
      changes.push({ what, from: existing[what], to: wanted[what], possible });
    }
  };
  compare('partitionKey', false, ({ partitionKey }) => [partitionKey.paths, partitionKey.version]);
  // Unique keys can't be added later, so a document that states none disagrees with a container that has some.
  compare('uniqueKeyPolicy', false, uniqueForm);
  if (wanted.indexingPolicy) compare('indexingPolicy', true, ({ indexingPolicy }) => indexingForm(indexingPolicy));
  if (wanted.defaultTtl !== undefined) compare('defaultTtl', true, ({ defaultTtl }) => defaultTtl);
  // A longer retention than the wanted one is kept.
  if ((existing.changeFeedPolicy?.retentionDuration ?? 0) < (wanted.changeFeedPolicy?.retentionDuration ?? 0))
    compare('changeFeedPolicy', true, ({ changeFeedPolicy }) => changeFeedPolicy);
  if (wanted.throughput) compare('throughput', true, ({ throughput }) => throughput);
  return changes;
}

const uniqueForm = ({ uniqueKeyPolicy }: ContainerDefinition): unknown =>
  (uniqueKeyPolicy?.uniqueKeys ?? []).map(({ paths }) => canonical(paths)).toSorted();

/** The service adds defaults, always excludes `/_etag/?`, and returns paths in any order. */
export function indexingForm(policy: IndexingPolicy = {}): unknown {
  return {
    mode: policy.indexingMode ?? 'consistent',
    automatic: policy.automatic ?? true,
    included: pathsOf(policy.includedPaths).toSorted(),
    excluded: pathsOf(policy.excludedPaths).toSorted(),
    composites: (policy.compositeIndexes ?? []).map((list) => canonical(list)).toSorted(),
  };
}

const pathsOf = (list: IndexingPolicy['includedPaths'] = []): string[] =>
  list.map(({ path }) => path).filter((path) => !path.includes('_etag'));
