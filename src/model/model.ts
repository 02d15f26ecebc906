import { isObject } from '../base/json.ts';
import type { Fields } from './fields.ts';

/** The place of a fact in a document; lines count from 1. */
export interface SourceLine {
  readonly file: string;
  readonly line: number;
}

/** Each of the places once, without the first. */
export function otherPlaces(first: SourceLine, all: readonly SourceLine[]): SourceLine[] {
  const seen = new Set([`${first.file} ${first.line}`]);
  return all.filter(({ file, line }) => {
    const place = `${file} ${line}`;
    return !seen.has(place) && seen.add(place);
  });
}

export interface IndexingPolicy {
  readonly indexingMode?: 'consistent' | 'none';
  readonly automatic?: boolean;
  readonly includedPaths?: readonly { readonly path: string }[];
  readonly excludedPaths?: readonly { readonly path: string }[];
  readonly compositeIndexes?: readonly (readonly {
    readonly path: string;
    readonly order: 'ascending' | 'descending';
  }[])[];
}

/** One entry of a vector policy, as Cosmos DB's API has it. */
export interface VectorField {
  readonly path: string;
  readonly dataType: 'float32' | 'float16' | 'uint8' | 'int8';
  readonly dimensions: number;
  readonly distanceFunction: 'cosine' | 'dotproduct' | 'euclidean';
}

export interface DocumentType {
  /** Value of the discriminator `type`; the container's name in lower case if its examples have no `type`. */
  readonly name: string;
  /** Empty: nothing is known of them. */
  readonly fields: Fields;
  readonly examples: readonly Readonly<Record<string, unknown>>[];
  readonly at: SourceLine;
}

export interface Container {
  readonly name: string;
  /** Paths with their slash, one a level: `/storeId`. */
  readonly partitionKey: readonly string[];
  /** Other keys that its section, a table or code states for it. To rules, all keys if they differ. */
  readonly otherKeys?: readonly { readonly paths: readonly string[]; readonly at: SourceLine }[];
  readonly types: readonly DocumentType[];
  readonly indexingPolicy?: IndexingPolicy;
  /** Seconds; -1: on, but only items with a `ttl` expire; absent: off. */
  readonly defaultTtl?: number;
  readonly uniqueKeys?: readonly { readonly paths: readonly string[] }[];
  /** The vector policy: fields with vectors, which others may write. */
  readonly vectors?: readonly VectorField[];
  /** RU/s. */
  readonly throughput?: { readonly kind: 'autoscale' | 'manual'; readonly max: number };
  /** The document calls it reference data, or says that all tenants share it. Absent: it doesn't. */
  readonly reference?: true;
  /** An example has an ellipsis, so fields that no example has may exist. */
  readonly partialExamples?: true;
  readonly at: SourceLine;
  /** The places of the facts above. */
  readonly places: Readonly<Partial<Record<ContainerFact, SourceLine>>>;
}

export type ContainerFact = 'partitionKey' | 'indexingPolicy' | 'defaultTtl' | 'uniqueKeys' | 'throughput';

export interface ModelFinding {
  readonly code: string;
  readonly severity: 'error' | 'warning' | 'information';
  readonly message: string;
  readonly hint?: string;
  readonly at: SourceLine;
}

/** A type of a container, by their names. */
interface TypeName {
  readonly container: string;
  readonly type: string;
}

/** Which containers the shards of a shard map have, as a section of the document states it. */
export interface ShardedContainers {
  /** Absent: the section names no map. */
  readonly name?: string;
  /** Containers whose documents are spread over the shards: the path of their key by name, if it is stated. */
  readonly sharded: Readonly<Record<string, string | null>>;
  /** Containers that every shard has in full. */
  readonly reference: readonly string[];
  readonly at: SourceLine;
}

/** The parsed data-model document, with the reader's findings. */
export interface Model {
  readonly title: string;
  readonly file: string;
  readonly containers: readonly Container[];
  /** Absent: the document has no shard map. */
  readonly shardMaps?: readonly ShardedContainers[];
  readonly findings: readonly ModelFinding[];
}

export const containerOf = ({ containers }: Model, name: string | undefined): Container | undefined =>
  containers.find((container) => container.name === name);

/** Empty if the document doesn't design the container. */
export const keyPathsOf = (model: Model, name: string): readonly string[] =>
  containerOf(model, name)?.partitionKey ?? [];

export const typeOf = (model: Model, of: TypeName | undefined): DocumentType | undefined =>
  containerOf(model, of?.container)?.types.find(({ name }) => name === of?.type);

/** Empty if the document doesn't have the type. */
export const examplesOf = (model: Model, of: TypeName | undefined): DocumentType['examples'] =>
  typeOf(model, of)?.examples ?? [];

/** The value of a document at a path such as a key level, `/address/city`. */
export const exampleValueAt = (document: unknown, path: string): unknown =>
  path
    .split('/')
    .slice(1)
    .reduce((part, name) => (isObject(part) ? part[name] : undefined), document);
