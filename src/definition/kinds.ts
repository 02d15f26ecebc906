// What a declaration becomes once the typed builders have taken it: the plain form that plan, engine and oracle read.
// Documents are untyped here; the builders in define.ts are where types are held.

export type Doc = Record<string, unknown>;

/** A document type of a container, by the names of the model document. */
export interface SourceRef {
  readonly container: string;
  readonly type: string;
}

export interface Join {
  readonly name: string;
  readonly of: SourceRef;
  /** Joined document's field → field of the document being copied. */
  readonly on: Readonly<Record<string, string>>;
  /** `null`: copy at once with null and refresh later; `wait`: copy only once the joined document exists. */
  readonly missing: 'wait' | 'null';
}

interface Common {
  readonly name: string;
  readonly version: number;
  readonly from: SourceRef;
  readonly into: SourceRef;
  readonly onDelete: 'remove' | 'keep';
  /** Declared: sink key and group never change during a document's life, so no locator is kept. */
  readonly stable: boolean;
  readonly maxLag?: string;
}

export interface CopySpec extends Common {
  readonly kind: 'copy';
  readonly joins: readonly Join[];
  where?(doc: Doc): boolean;
  /** The sink document with its id, without its discriminator. */
  map(doc: Doc, joined: Readonly<Record<string, Doc | null>>): Doc;
}

export type MeasureSpec =
  | { readonly kind: 'count' }
  | { readonly kind: 'sum' | 'avg' | 'min' | 'max'; of(row: unknown): number }
  | { readonly kind: 'distinct'; of(row: unknown): string }
  | TopSpec
  | HistogramSpec;

/** The `n` rows with the largest `by`; equal ones in the order of their canonical `keep`. */
export interface TopSpec {
  readonly kind: 'top';
  readonly n: number;
  by(row: unknown): number;
  keep(row: unknown): Doc;
}

/** Rows counted by bucket: below bounds[0], from bounds[0] below bounds[1], …, from the last on. */
export interface HistogramSpec {
  readonly kind: 'histogram';
  readonly bounds: readonly number[];
  of(row: unknown): number;
}

export interface AggregateSpec extends Common {
  readonly kind: 'aggregate';
  where?(doc: Doc): boolean;
  /** Rows of one document; absent: the document itself is the one row. */
  each?(doc: Doc): readonly unknown[];
  /** The group's fields; they hold the sink's whole partition key. */
  groupBy(row: unknown, doc: Doc): Doc;
  readonly measures: Readonly<Record<string, MeasureSpec>>;
}

/** What has a sink of documents that can be worked out anew. */
export type ProjectionSpec = CopySpec | AggregateSpec;

/** Milliseconds; `text` as declared. `always`: `where` alone decides. */
export type ArchiveRule =
  | { readonly kind: 'after' | 'before'; readonly ms: number; readonly text: string }
  | { readonly kind: 'always' };

/** Documents that leave their container for blobs. No projection in the narrow sense: it has no sink to be recomputed. */
export interface ArchiveSpec {
  readonly kind: 'archive';
  readonly name: string;
  readonly version: number;
  readonly from: SourceRef;
  /** Field of the document that the rule and the period are read from. */
  readonly dateField: string;
  /** `after`: older than that many milliseconds; `before`: earlier than that time. */
  readonly rule: ArchiveRule;
  where?(doc: Doc): boolean;
  /** Field whose value parts the blobs by tenant. */
  readonly tenantField?: string;
}

/** Changes as events of an event hub: nothing that could be recomputed, as a hub can't be asked what it holds of a key. */
export interface PublishSpec {
  readonly kind: 'publish';
  readonly name: string;
  readonly version: number;
  readonly from: SourceRef;
  /** Name of the event hub. */
  readonly to: string;
  readonly format: 'cloudevents' | 'raw';
  readonly order: 'partitionKey' | 'document';
  /** The data is what was before and after. */
  readonly images: boolean;
  readonly type?: string;
  readonly schemaVersion?: string;
  where?(doc: Doc): boolean;
  map?(doc: Doc): unknown;
}

/** Everything that is declared in a pipeline's `projections`. */
export type DerivedSpec = ProjectionSpec | ArchiveSpec | PublishSpec;

/** An event as an ingest's `map` gets it. */
export interface IngestEvent {
  /** Parsed where it is JSON; else its text, or its bytes where it is no UTF-8. */
  readonly body: unknown;
  /** Application properties. */
  readonly properties: Readonly<Record<string, unknown>>;
  readonly partitionKey?: string;
  readonly partition: string;
  readonly sequence: number;
  readonly offset: string;
  readonly enqueuedAt: Date;
}

/** Events of an event hub that become documents. */
export interface IngestSpec {
  readonly kind: 'ingest';
  readonly name: string;
  readonly version: number;
  /** Name of the event hub. */
  readonly from: string;
  readonly consumerGroup: string;
  readonly into: SourceRef;
  /** The document without its discriminator; null: the event becomes none. */
  map(event: IngestEvent): Doc | null;
}

export interface SourceRules extends SourceRef {
  deleted?(doc: Doc): boolean;
  upcast?(old: unknown): Doc;
}

export interface Finding {
  readonly code: string;
  readonly severity: 'error' | 'warning';
  readonly message: string;
  readonly mend?: string;
}

export interface Pipeline {
  /** Tells its leases from those of other pipelines on the same containers. */
  readonly name: string;
  /** The data-model document's path or URL, as given to `model()`. */
  readonly modelFile: string | URL;
  /** Tenant field, first level of every large container's key. */
  readonly tenant?: string;
  readonly sources: readonly SourceRules[];
  readonly projections: readonly ProjectionSpec[];
  readonly archives: readonly ArchiveSpec[];
  readonly publishes: readonly PublishSpec[];
  readonly ingests: readonly IngestSpec[];
  readonly findings: readonly Finding[];
}

/** `name@version`: how a projection is told everywhere. */
export const projectionId = (p: { name: string; version: number }): `${string}@${number}` => `${p.name}@${p.version}`;
