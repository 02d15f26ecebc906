// The two documents as facts, in addition to the Model: the input of the rules. Every fact has its place.
import type { Container, IndexingPolicy, Model, ModelFinding, SourceLine } from './model.ts';
import type { Query } from './query.ts';
import type { Review } from './review/review.ts';

/** A piece of prose with its first line. Backticks are kept; bold and line breaks are removed. */
export interface Text {
  readonly text: string;
  readonly at: SourceLine;
}

/** A paragraph, bullet or table cell with its heading, and its bold label if it has one. */
export interface Prose extends Text {
  readonly label?: string;
  /** Name of the nearest section above with a known name. */
  readonly section: string | undefined;
  /** Heading of its section. */
  readonly heading: string;
  readonly kind: 'paragraph' | 'bullet' | 'cell';
  /** Of a cell: the first cell of its row. */
  readonly subject?: string;
}

/** Requests a second. `per`: the rate is for each unit, such as a practice, so the total needs a multiplier. */
export interface Rate {
  readonly peak?: number;
  readonly average?: number;
  readonly per?: string;
}

export interface Pattern {
  /** Number without prefix and leading zeros: `AP-03` is 3. */
  readonly id: string;
  readonly printed: string;
  readonly description: string;
  readonly rate: Rate | undefined;
  readonly rateText: string;
  readonly type: 'read' | 'write' | 'mixed' | undefined;
  readonly attributes: string;
  /** Undefined: there is no such column. */
  readonly status: string | undefined;
  /** Every column by its header as printed, including unknown columns. */
  readonly cells: Readonly<Record<string, string>>;
  readonly at: SourceLine;
}

/** `- **User → Orders**: 1:Many (avg 5, max 1000)`. */
export interface Relationship {
  readonly parent: string;
  readonly child: string;
  readonly many: boolean;
  readonly average?: number;
  readonly max?: number;
  readonly at: SourceLine;
}

export type DocumentDecision = 'single' | 'multi' | 'separate';

/** The analysis of two entities that may share a document or container. */
export interface Pair {
  readonly parent: string;
  readonly child: string;
  /** Percent. */
  readonly correlation?: number;
  readonly only?: readonly number[];
  readonly both?: number;
  readonly decision: DocumentDecision | undefined;
  readonly naturalParent: boolean;
  readonly bounded: boolean;
  readonly independent: boolean;
  readonly identifying?: {
    readonly childIndependent?: boolean;
    readonly parentKnown?: boolean;
    readonly crossPartition?: boolean;
  };
  readonly at: SourceLine;
  readonly places: Readonly<Partial<Record<'correlation' | 'decision' | 'identifying', SourceLine>>>;
}

/** `section`: its known name, or that of the nearest section above with a known name. */
export interface SectionHeading extends Text {
  readonly section: string | undefined;
}

export interface Check {
  readonly ticked: boolean;
  readonly text: string;
  readonly at: SourceLine;
}

/** `<!-- millrace-ignore B10 until 2027-01: admin only -->`: it applies to the section that contains it. */
export interface Waiver {
  readonly rule: string;
  /** The first moment after its end, milliseconds since 1970, UTC; undefined: no date is stated. */
  readonly until: number | undefined;
  readonly reason: string;
  readonly at: SourceLine;
  /** Lines it covers, both included. */
  readonly from: number;
  readonly to: number;
}

/** A query over source documents that says what a pattern's answer must be: a fence `sql meaning of 3 over Flights`. */
export interface Meaning extends Text {
  readonly ids: readonly string[];
  /** The type that the pattern reads, where its container has several. */
  readonly type?: string;
  readonly container: string;
}

export interface ShardMapping {
  readonly key: string;
  readonly shard: string;
  readonly cells: Readonly<Record<string, string>>;
  readonly at: SourceLine;
}

/** A shard map as a section states it: a table `Key | Shard location`, and labels beside it. */
export interface DocumentedMap {
  /** The heading's own words, as in `### tenants` below `## Shard map`; absent: the section names no map. */
  readonly name?: string;
  readonly keyType?: Text;
  /** Containers with the path of the key: `Orders` by `/tenantId`. */
  readonly sharded?: Text;
  /** Containers that every shard has in full. */
  readonly reference?: Text;
  readonly mappings: readonly ShardMapping[];
  readonly at: SourceLine;
}

interface Common {
  readonly file: string;
  readonly title: string;
  readonly prose: readonly Prose[];
  readonly headings: readonly SectionHeading[];
  readonly checks: readonly Check[];
  readonly waivers: readonly Waiver[];
  readonly shardMaps: readonly DocumentedMap[];
  readonly meanings: readonly Meaning[];
  readonly lines: readonly string[];
  readonly findings: readonly ModelFinding[];
}

export interface Requirements extends Common {
  readonly patterns: readonly Pattern[];
  readonly relationships: readonly Relationship[];
  readonly pairs: readonly Pair[];
}

export type PatternOperation =
  | 'point-read'
  | 'query'
  | 'cross-partition'
  | 'create'
  | 'replace'
  | 'patch'
  | 'upsert'
  | 'delete'
  | 'batch';

export interface PatternMapping {
  readonly ids: readonly string[];
  readonly printed: string;
  /** Names of designed containers. */
  readonly containers: readonly string[];
  /** Other names in the same cell. */
  readonly unknown: readonly string[];
  readonly operations: readonly PatternOperation[];
  readonly operationText: string;
  readonly queries: readonly Query[];
  readonly notes: string;
  /** RU of one execution, as stated. */
  readonly ru?: number;
  /** The number of point reads of one execution. */
  readonly times: number;
  readonly at: SourceLine;
}

/** What a document says is asked of a container, outside the rows of the mapping. */
export interface DocumentPair {
  readonly container: string;
  readonly text: string;
  readonly queries: readonly Query[];
  /** The text says that it reads several partitions. */
  readonly crossing: boolean;
  /** The request names the partition beside the query, as an option of the call. */
  readonly scoped?: true;
  readonly at: SourceLine;
}

export interface Reference {
  readonly container: string;
  readonly type?: string;
}

/** A row of `## Change Feed Projections`, or a heading with bullets that states the same. */
export interface ProjectionRow {
  readonly name: string;
  /** Of `orders@2`; undefined: the row names none. */
  readonly version?: number;
  readonly kind: string;
  readonly source: Reference | undefined;
  readonly joins: readonly Reference[];
  readonly sourceText: string;
  /** Undefined if the sink isn't a container: see `sinkText`. */
  readonly sink: Reference | undefined;
  readonly sinkText: string;
  readonly keyText: string;
  readonly keys: readonly string[];
  readonly fieldsText: string;
  /** `a → b` of copies. */
  readonly pairs: readonly { readonly from: string; readonly to: string }[];
  /** `cents = sum(cents)` of aggregates; `kind` is undefined if the row states none. `of`: the text behind the kind. */
  readonly measures: readonly { readonly field: string; readonly kind: string | undefined; readonly of: string }[];
  /** The row says that it has the fields of another one. */
  readonly as?: string;
  readonly serves: readonly string[];
  readonly lagMs?: number;
  readonly lagText: string;
  readonly deletes: string;
  readonly start: string;
  readonly lease?: string;
  readonly at: SourceLine;
}

/** A container with the facts of its bullets that the Model doesn't have. */
export interface ContainerDetail {
  readonly container: Container;
  readonly prose: readonly Prose[];
  /** Bytes; `stated` false: measured on the examples. */
  readonly size: { readonly average: number; readonly max: number; readonly stated: boolean; readonly at: SourceLine };
  /** GB of data. */
  readonly data?: { readonly gb: number; readonly at: SourceLine };
  /** Distinct values of the partition key. */
  readonly cardinality?: number;
  readonly serves: { readonly ids: readonly string[]; readonly at: SourceLine } | undefined;
  readonly range?: { readonly low: number; readonly high: number; readonly at: SourceLine };
  /** The texts about it under hot partitions. */
  readonly hot: readonly Text[];
  readonly index: StatedIndex;
  /** A projection writes it, or its bullets say that it is derived. */
  readonly derived: boolean;
}

/** The index paths as written, before the reader adds the missing ones. */
export interface StatedIndex {
  /** A policy is written as JSON, so it has every path. Bullets may name only what differs from the default. */
  readonly json: boolean;
  readonly included: readonly Text[];
  readonly excluded: readonly Text[];
  readonly composites: readonly {
    readonly paths: NonNullable<IndexingPolicy['compositeIndexes']>[number];
    readonly at: SourceLine;
  }[];
}

export interface Design extends Common {
  readonly model: Model;
  readonly containers: readonly ContainerDetail[];
  readonly mapping: readonly PatternMapping[];
  readonly asked: readonly DocumentPair[];
  readonly projections: readonly ProjectionRow[];
  /** Where the section of projections begins; undefined: there is no such section. */
  readonly projectionsAt: SourceLine | undefined;
  /** Line of each example, by the example itself. */
  readonly exampleLines: ReadonlyMap<object, number>;
}

/** The two documents; at least one of them exists. */
export interface ModelDocuments {
  readonly requirements: Requirements | undefined;
  readonly design: Design | undefined;
  /** What a reader found; absent: there is no review. */
  readonly review?: Review;
  /** Of a data model in which the reader finds no container. */
  readonly waivers?: readonly Waiver[];
}

/** The text of each document, by its file. */
export const textsOf = ({ requirements, design, review }: ModelDocuments): ReadonlyMap<string, readonly string[]> =>
  new Map([requirements, design, review].flatMap((one) => (one ? [[one.file, one.lines] as const] : [])));
