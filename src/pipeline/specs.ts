// The plain form of declarations, which the typed builders return and which plan, engine and oracle read. Documents are
// untyped here; the builders check the types.

import type { ModelCode } from '../model/code/define-model.ts';
import type { MeasureSpec } from './builders/measures.ts';
import type { Sink, TableStore } from './outside-sink.ts';

export type {
  Entry,
  EntryPlace,
  Sink,
  SinkRebuild,
  TableEntry,
  TablePart,
  TableRow,
  TableStore,
} from './outside-sink.ts';

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
  /** `null`: copy immediately with null and refresh later; `wait`: copy only when the joined document exists. */
  readonly missing: 'wait' | 'null';
}

interface Common {
  readonly name: string;
  readonly version: number;
  readonly from: SourceRef;
  readonly into: SourceRef;
  readonly onDelete: 'remove' | 'keep';
  /** The user declares that sink key and group never change during a document's life, so no locator is kept. */
  readonly stable: boolean;
  /** It combines several tenants, or writes for another tenant than its source's. Absent: Millrace refuses that. */
  readonly acrossTenants?: true;
  readonly maxLag?: string;
  /** What happens to an id that Cosmos DB doesn't accept. Absent: it is hashed. */
  readonly badIds?: 'hash' | 'park';
  /** Its documents lie in the global place, whichever shard its source is in. Absent: in the place of its source. */
  readonly toGlobal?: true;
  /** The type that its documents get; absent: the sink's. A replay into another container uses the live sink's type. */
  readonly typedAs?: SourceRef;
}

export interface CopySpec extends Common {
  readonly kind: 'copy';
  readonly joins: readonly Join[];
  where?(doc: Doc): boolean;
  /** The sink document with its id, without its discriminator. Never called while a joined document is missing that it waits for. */
  map(doc: Doc, joined: Readonly<Record<string, Doc | null>>): Doc;
}

/** Whether a copy waits for a joined document, which may then determine its place. */
export const waitsFor = (spec: { readonly kind: string; readonly joins?: readonly Join[] }): boolean =>
  spec.kind === 'copy' && spec.joins?.some(({ missing }) => missing === 'wait') === true;

/** Whether a joined document is missing that a copy waits for: then `map` must not be called. */
export const lacksJoined = (spec: CopySpec, joined: Readonly<Record<string, Doc | null>>): boolean =>
  spec.joins.some(({ name, missing }) => missing === 'wait' && !joined[name]);

/** Whether a locator stores where a document's copy or contributions are. */
export const hasLocator = (spec: AggregateSpec | CopySpec): boolean => !spec.stable || waitsFor(spec);

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

/** Declarations with a sink of documents that can be recomputed. */
export type ProjectionSpec = CopySpec | AggregateSpec | ReferenceSpec;

/** Fields that Millrace copies from a parent document into documents that the application writes. */
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
  /** Its parents belong to other tenants than their children. Absent: Millrace refuses that. */
  readonly acrossTenants?: true;
  readonly onDelete: 'remove' | 'keep';
  readonly maxLag?: string;
  /** `item`: the element; without `each` the child itself. */
  when?(item: Doc, child: Doc): boolean;
  readonly set: Readonly<Record<string, (parent: Doc, item: Doc) => unknown>>;
}

/** What a reaction gets in addition to the document. */
export interface Effect {
  /** The same for every attempt at one change, on any host: the receiver recognises a repeated call by it. */
  readonly key: string;
  /** From 1 on, within one delivery. */
  readonly attempt: number;
  /** Aborted when the attempt takes too long, or when this host has lost its lease. */
  readonly signal: AbortSignal;
}

/** Where a projection begins. A time is ISO 8601 UTC. */
export type StartSpec = 'beginning' | 'now' | `${number}-${string}`;

interface EffectCommon {
  readonly name: string;
  readonly version: number;
  readonly from: SourceRef;
  readonly onDelete: 'remove' | 'keep';
  readonly maxLag?: string;
  /** Where it begins; absent: by `startOf`. Recorded once, when a host first runs it. */
  readonly start?: StartSpec;
}

/** User code that runs when a document changes. */
export interface ReactSpec extends EffectCommon {
  readonly kind: 'react';
  /** Changes of one document, or of one partition key, are run one after another. */
  readonly order: 'document' | 'partitionKey';
  readonly attempts: number;
  /** Milliseconds an attempt may last. */
  readonly timeoutMs: number;
  /** Whether it runs for documents that came back from the archive. */
  readonly restored: boolean;
  /** Whether it runs if only fields changed that embeds of the pipeline write. */
  readonly echoes: boolean;
  /** What becomes of an effect in `once` that began and may not have ended. Absent: it has none. */
  readonly unfinished?: 'again' | 'park';
  when?(doc: Doc): boolean;
  run(doc: Doc, effect: Effect): Promise<void>;
}

/** A copy outside of Cosmos DB: one row for each source document that passes `where`. */
export interface SendSpec extends EffectCommon {
  readonly kind: 'send';
  readonly to: Sink;
  where?(doc: Doc): boolean;
  map(doc: Doc): unknown;
}

/** The types of columns that a table may have. */
export type ColumnType =
  | 'text'
  | 'bigint'
  | 'numeric'
  | 'double precision'
  | 'boolean'
  | 'timestamptz'
  | 'date'
  | 'jsonb';

/** What is declared of a column: its name or its type, where the model's examples don't say what is wanted. */
export interface ColumnOption {
  readonly name?: string;
  readonly type?: ColumnType;
}

/** A list of the document whose elements are rows of a table of their own. */
export interface ChildOption {
  readonly into: string;
  /** Field of the element that is unique in its document; absent: the element's position. */
  readonly key?: string;
  readonly columns: Readonly<Record<string, ColumnOption>>;
  readonly extra: 'keep' | 'refuse';
}

/** A document of another table that a row names. */
export interface RowReference {
  readonly name: string;
  readonly of: SourceRef;
  /** Field of the other document → field of this one. */
  readonly on: Readonly<Record<string, string>>;
}

/** Tables of PostgreSQL: a row for each source document, and rows of child tables for the elements of its lists. */
export interface TableSpec {
  readonly kind: 'table';
  readonly name: string;
  readonly version: number;
  readonly from: SourceRef;
  /** What readers call the table: the name of a view. */
  readonly table: string;
  readonly onDelete: 'remove' | 'keep';
  readonly maxLag?: string;
  /** It always begins at the beginning. */
  readonly start?: 'beginning';
  readonly columns: Readonly<Record<string, ColumnOption>>;
  /** What becomes of fields that no example has: `keep`: they are in the column `extra`; `refuse`: the change is parked. */
  readonly extra: 'keep' | 'refuse';
  /** By field. */
  readonly children: Readonly<Record<string, ChildOption>>;
  readonly references: readonly RowReference[];
  /** Fields whose values only one document of a tenant may have: a change with a value that is taken is parked. */
  readonly unique: readonly (readonly string[])[];
  /** The setting of a session that names the tenant whose rows PostgreSQL shows. Absent: all rows. */
  readonly rowSecurity?: string;
  where?(doc: Doc): boolean;
  /** The rows of one document. They follow from the model, so a spec has them once it is bound to one (`bindTables`). */
  map(doc: Doc): unknown;
  /** The database. It throws until the spec is bound to one. */
  readonly to: TableStore;
}

/** What writes rows for documents outside of the account. */
export type OutsideSpec = SendSpec | TableSpec;

export const isOutside = <S extends { readonly kind: string }>(spec: S): spec is Extract<S, OutsideSpec> =>
  spec.kind === 'send' || spec.kind === 'table';

/** A runner that the user wrote; `custom` checks its types where it is declared. */
export interface CustomSpec {
  readonly kind: 'custom';
  readonly name: string;
  readonly version: number;
  readonly sources: readonly SourceRef[];
  readonly start?: StartSpec;
  /** False: it doesn't get a version that differs in ignored fields alone. Absent: it gets each version. */
  readonly echoes?: boolean;
  apply(changes: readonly unknown[], access: unknown): Promise<void>;
  reset?(scope: ResetScope): Promise<void>;
}

/** What a custom projection is to forget. */
export interface ResetScope {
  /** `name@version`. */
  readonly projection: string;
  /** The types whose whole history comes again afterwards. */
  readonly sources: readonly SourceRef[];
  /** Aborted when the reset takes too long. Nothing that it began may take effect after it has ended. */
  readonly signal: AbortSignal;
}

/** Declarations with effects outside of the account; a rebuild of projections doesn't run them. */
export type EffectSpec = ReactSpec | SendSpec | TableSpec | CustomSpec;

/** Milliseconds; `text` as declared. `always`: `where` alone decides. */
export type ArchiveRule =
  | { readonly kind: 'after' | 'before'; readonly ms: number; readonly text: string }
  | { readonly kind: 'always' };

/** How an archive packs the lines of its blobs. */
export type ArchiveCodec = 'gzip' | 'zstd';

/** Documents that move from their container to blobs. It has no sink that could be recomputed. */
export interface ArchiveSpec {
  readonly kind: 'archive';
  readonly name: string;
  readonly version: number;
  readonly from: SourceRef;
  /** Field of the document that holds the date for the rule and the period. */
  readonly dateField: string;
  /** `after`: older than that many milliseconds; `before`: earlier than that time. */
  readonly rule: ArchiveRule;
  /** Only documents of more stored bytes; `text` as declared. */
  readonly largerThan?: { readonly bytes: number; readonly text: string };
  /** A document is deleted from the archive when its date is this long ago: milliseconds; `text` as declared. */
  readonly keep?: { readonly ms: number; readonly text: string };
  /** The storage account keeps each blob so long after it was written, milliseconds; `locked`: no one can end that earlier. */
  readonly retain?: { readonly ms: number; readonly text: string; readonly locked: boolean };
  where?(doc: Doc): boolean;
  /** Field with the tenant: each tenant has separate blobs. */
  readonly tenantField?: string;
  /** Of the blobs that are written from now on; readers read each. Absent: gzip. */
  readonly codec?: ArchiveCodec;
  /** After how many days a lifecycle policy moves blobs to which tier; 0: never. Absent: the default of `infra/`. */
  readonly tiers?: { readonly cool: number; readonly cold: number };
}

/** Changes as events of an event hub. They can't be recomputed: a hub can't be asked for its events of one key. */
export interface PublishSpec {
  readonly kind: 'publish';
  readonly name: string;
  readonly version: number;
  readonly from: SourceRef;
  /** Name of the event hub. */
  readonly to: string;
  readonly format: 'cloudevents' | 'raw';
  readonly order: 'partitionKey' | 'document';
  /** The data is `{ before, after }`. */
  readonly images: boolean;
  /** The publish whose event ids it uses; absent: itself. A replay to another hub uses the ids of the live publish. */
  readonly idsOf?: Pick<PublishSpec, 'name' | 'version'>;
  readonly type?: string;
  readonly schemaVersion?: string;
  readonly start?: StartSpec;
  where?(doc: Doc): boolean;
  map?(doc: Doc): unknown;
}

/** Declarations that can get the history of their sources again by feeds of their own. */
export type ReplayedSpec = ProjectionSpec | EmbedSpec | SendSpec | TableSpec | CustomSpec | PublishSpec | ReactSpec;

/** Everything that is declared in a pipeline's `projections`. */
export type DerivedSpec = ProjectionSpec | EmbedSpec | EffectSpec | ArchiveSpec | PublishSpec;

/** An event as an ingest's `map` gets it. */
export interface IngestEvent {
  /** Parsed JSON, or the bytes where the ingest's format is `raw`. */
  readonly body: unknown;
  /**
   * Application properties. Their names always begin with a small letter (`deviceId` if the producer wrote `DeviceId`):
   * Functions delivers them so, and an event must mean the same on every kind of host.
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
  /** The document without its discriminator; null: the event becomes no document. */
  map(event: IngestEvent): Doc | null;
}

export interface SourceRules extends SourceRef {
  deleted?(doc: Doc): boolean;
  upcast?(old: unknown): Doc;
  /** Field that holds the type's name, or a predicate for stored documents. Absent: the field `type`. */
  readonly discriminator?: string | ((stored: Doc) => boolean);
  /** Which feed of the container is read. Absent: the latest versions. */
  readonly feed?: 'latest' | 'all-versions';
  /** Paths of fields that are no change. Absent: the vectors of the container. */
  readonly ignore?: readonly string[];
}

export interface Finding {
  readonly code: string;
  /** Name of the declaration that has the problem. */
  readonly of?: string;
  readonly severity: 'error' | 'warning';
  readonly message: string;
  readonly hint?: string;
}

/** A shard map by its name. The pipeline reads the feeds of all its shards. */
export interface ShardsSpec {
  readonly map: string;
}

/** The part of a pipeline over shards that the hosts of one place run. */
export interface PipelinePart {
  /** `global`: the place of the settings, which is no shard. */
  readonly place: 'global' | 'shard';
  /** The pipeline with the declarations of all places: views, versions and readers of its documents are there once. */
  readonly whole: Pipeline;
  /** The containers that each shard has; all others are in the global place. */
  readonly inShards: ReadonlySet<string>;
}

export interface Pipeline {
  /** Part of its lease names: it separates its leases from those of other pipelines on the same containers. */
  readonly name: string;
  readonly model: ModelCode;
  /** Tenant field, first level of every large container's key. */
  readonly tenant?: string;
  /** Absent: the pipeline works on one place. */
  readonly shards?: ShardsSpec;
  /** Absent: this is a whole pipeline. */
  readonly part?: PipelinePart;
  readonly sources: readonly SourceRules[];
  readonly projections: readonly ProjectionSpec[];
  readonly embeds: readonly EmbedSpec[];
  readonly effects: readonly EffectSpec[];
  readonly archives: readonly ArchiveSpec[];
  readonly publishes: readonly PublishSpec[];
  readonly ingests: readonly IngestSpec[];
  readonly findings: readonly Finding[];
}

/** `name@version`: the id of a projection, in every output and every stored document. */
export const projectionId = (p: { name: string; version: number }): `${string}@${number}` => `${p.name}@${p.version}`;
