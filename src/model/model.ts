/** Where a fact stands in a document: 1-based line. */
export interface Place {
  readonly file: string;
  readonly line: number;
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

export interface DocumentType {
  /** Value of the discriminator `type`; the container's name in lower case where its examples have none. */
  readonly name: string;
  readonly examples: readonly Readonly<Record<string, unknown>>[];
  readonly at: Place;
}

export interface Container {
  readonly name: string;
  /** Paths with their slash, one a level: `/storeId`. */
  readonly partitionKey: readonly string[];
  readonly types: readonly DocumentType[];
  readonly indexingPolicy?: IndexingPolicy;
  /** Seconds; -1: on, items don't expire unless they say so; absent: off. */
  readonly defaultTtl?: number;
  readonly uniqueKeys?: readonly { readonly paths: readonly string[] }[];
  /** RU/s. */
  readonly throughput?: { readonly kind: 'autoscale' | 'manual'; readonly max: number };
  readonly at: Place;
  /** Where each of the facts above stands. */
  readonly places: Readonly<Partial<Record<ContainerFact, Place>>>;
}

export type ContainerFact = 'partitionKey' | 'indexingPolicy' | 'defaultTtl' | 'uniqueKeys' | 'throughput';

export interface ModelFinding {
  readonly code: string;
  readonly severity: 'error' | 'warning' | 'information';
  readonly message: string;
  readonly mend?: string;
  readonly at: Place;
}

/** The parsed data-model document, and what the reader has to say about it. */
export interface Model {
  readonly title: string;
  readonly file: string;
  readonly containers: readonly Container[];
  readonly findings: readonly ModelFinding[];
}
