// What a declaration becomes once the typed builders have taken it: the plain form that plan, engine and oracle read.
// Documents are untyped here; the builders are where types are held.

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
  /** What becomes of an id that Cosmos DB wouldn't take. Absent: it is hashed. */
  readonly badIds?: 'hash' | 'park';
  /** Whose type its documents have; absent: its sink's. A replay into another container makes what the live sink has. */
  readonly typedAs?: SourceRef;
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

/** Reference data copied into every tenant: one sink document for each pair of a source document and a tenant. */
export interface ReferenceSpec extends Common {
  readonly kind: 'reference';
  /** The documents that list the tenants. */
  readonly tenants: SourceRef;
  /** Sink field → tenant's field. */
  readonly key: Readonly<Record<string, string>>;
  where?(doc: Doc): boolean;
  /** The sink document with its id, without its discriminator and the fields of `key`. */
  map(doc: Doc): Doc;
}

/** What has a sink of documents that can be worked out anew. */
export type ProjectionSpec = CopySpec | AggregateSpec | ReferenceSpec;

/** Fields of a document that somebody else writes, kept as a parent document says. */
export interface EmbedSpec {
  readonly kind: 'embed';
  readonly name: string;
  readonly version: number;
  /** The parents. */
  readonly from: SourceRef;
  /** The children, which hold the fields. */
  readonly into: SourceRef;
  /** Parent's field → child's field. */
  readonly on: Readonly<Record<string, string>>;
  /** Where the fields lie in the elements of a list: the list, and parent's field → element's field. */
  readonly each?: { readonly field: string; readonly on: Readonly<Record<string, string>> };
  readonly onDelete: 'remove' | 'keep';
  readonly maxLag?: string;
  /** `item`: the element; without `each` the child itself. */
  when?(item: Doc, child: Doc): boolean;
  readonly set: Readonly<Record<string, (parent: Doc, item: Doc) => unknown>>;
}

/** What a reaction is told beside the document. */
export interface Effect {
  /** The same for every attempt at one change, wherever it is made: for the receiver to know it again by. */
  readonly key: string;
  /** From 1 on, within one delivery. */
  readonly attempt: number;
  /** Aborted when the attempt has lasted too long or this host may no longer act. */
  readonly signal: AbortSignal;
}

interface EffectCommon {
  readonly name: string;
  readonly version: number;
  readonly from: SourceRef;
  readonly onDelete: 'remove' | 'keep';
  readonly maxLag?: string;
}

/** Code of the user's that a change sets off. */
export interface ReactSpec extends EffectCommon {
  readonly kind: 'react';
  /** Changes of one document, or of one partition key, are run one after another. */
  readonly order: 'document' | 'partitionKey';
  readonly attempts: number;
  /** Milliseconds an attempt may last. */
  readonly timeoutMs: number;
  /** Whether it runs for documents that came back from the archive. */
  readonly restored: boolean;
  /** Whether it runs where nothing changed but what embeds of the pipeline write. */
  readonly echoes: boolean;
  when?(doc: Doc): boolean;
  run(doc: Doc, effect: Effect): Promise<void>;
}

/** One document for a sink outside of Cosmos DB. */
export interface Entry<R = unknown> {
  /** Made of the source document's key and id: `A-Z a-z 0-9 _ . : @ - ~ |`, at most 255 characters. */
  readonly id: string;
  /** Sorts as text: of two entries with one id the greater is the newer. Same length for all. */
  readonly version: string;
  /** null: there is to be none. */
  readonly row: R | null;
}

/**
 * A place outside of Cosmos DB that holds one row an id: a search index, a cache. Rows come again, late, and in any
 * order (another host may still be writing), so it must keep the newest `version` of each id, that of a removed row at
 * least an hour; a write that is older than what it holds is to be ignored without an error.
 */
export interface Sink<R = unknown> {
  /**
   * Resolves when all entries are durable or superseded. Throws `SinkRefusal` for entries it will never take; anything
   * else it throws means that it can't be reached: the page is read again.
   */
  write(entries: readonly Entry<R>[], signal: AbortSignal): Promise<void>;
  /** What it holds, for `projections verify`; without it that kind isn't verified. */
  rows?(signal: AbortSignal): AsyncIterable<{ readonly id: string; readonly row: R }>;
}

/** A copy outside of Cosmos DB: one row for each source document that passes `where`. */
export interface SendSpec extends EffectCommon {
  readonly kind: 'send';
  readonly to: Sink;
  where?(doc: Doc): boolean;
  map(doc: Doc): unknown;
}

/** A runner of the user's own; its types are held where it is declared (`custom`). */
export interface CustomSpec {
  readonly kind: 'custom';
  readonly name: string;
  readonly version: number;
  readonly sources: readonly SourceRef[];
  apply(changes: readonly unknown[], session: unknown): Promise<void>;
}

/** What works outside of the account, and is left alone while projections are rebuilt. */
export type EffectSpec = ReactSpec | SendSpec | CustomSpec;

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
export type DerivedSpec = ProjectionSpec | EmbedSpec | EffectSpec | ArchiveSpec | PublishSpec;

/** An event as an ingest's `map` gets it. */
export interface IngestEvent {
  /** Parsed JSON, or the bytes where the ingest's format is `raw`. */
  readonly body: unknown;
  /**
   * Application properties. Their names begin with a small letter whatever the producer wrote (`deviceId` for `DeviceId`):
   * under Functions they come no other way, and an event is to mean the same wherever it is taken.
   */
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
  readonly format: 'json' | 'raw';
  readonly into: SourceRef;
  /** The document without its discriminator; null: the event becomes none. */
  map(event: IngestEvent): Doc | null;
}

export interface SourceRules extends SourceRef {
  deleted?(doc: Doc): boolean;
  upcast?(old: unknown): Doc;
  /** Field that holds the type's name, or what tells a stored document of the type. Absent: the field `type`. */
  readonly discriminator?: string | ((stored: Doc) => boolean);
  /** Which feed of the container is read. Absent: the latest versions. */
  readonly feed?: 'latest' | 'all-versions';
}

export interface Finding {
  readonly code: string;
  /** Name of the declaration that it is about. */
  readonly of?: string;
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
  readonly embeds: readonly EmbedSpec[];
  readonly effects: readonly EffectSpec[];
  readonly archives: readonly ArchiveSpec[];
  readonly publishes: readonly PublishSpec[];
  readonly ingests: readonly IngestSpec[];
  readonly findings: readonly Finding[];
}

/** `name@version`: how a projection is told everywhere. */
export const projectionId = (p: { name: string; version: number }): `${string}@${number}` => `${p.name}@${p.version}`;
