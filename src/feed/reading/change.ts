import type { SpanCarrier } from '../../base/telemetry/spans.ts';
import type { KeyLevel } from '../../base/key-level.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';

/**
 * A full partition key: one value for each level, in the order of the container's definition. A level that the document
 * lacks is `{}`, as the Cosmos DB client takes it; `null` lies in another partition.
 */
export type Key = readonly KeyLevel[];

/** The identity of a document. */
export interface Identity {
  readonly container: string;
  readonly key: Key;
  readonly id: string;
}

/** Orders the versions of one identity, and nothing else (ASM-A1). */
export interface Version {
  /** Generation of the source's lsn values. It is raised when they lose their order. */
  readonly epoch: number;
  readonly lsn: number;
  readonly etag: string;
}

/** A stored document that the archive lets expire. The change's `doc` is without what the archive added. */
export interface Leaving {
  /** The document as it was stored, without the archive's `ttl` and without system fields. */
  readonly stored: Record<string, unknown>;
  /** The archived version; absent if the writer kept only the `ttl`. */
  readonly of?: { readonly version: Version; readonly at: number };
  /** True: its content is still that of the archived version. */
  readonly intact: boolean;
}

/**
 * One entry of the feed. `doc` is the current document; the text of its dates may differ, because the Functions host
 * rewrites them.
 */
export interface Change<D = Record<string, unknown>> extends Identity {
  /** The document's `type`. Empty if it has none, or for a deletion without the deleted document. */
  readonly type: string;
  readonly version: Version;
  /**
   * A deletion without the deleted document, in a container with several types. `type` is one that the receiver reads
   * there; the document may have had another type.
   */
  readonly typeUnknown?: true;
  /**
   * The tenant that the document belongs to, as text. Absent: its container belongs to no tenant, the document names no
   * valid one (then `failed` says so), or it is a deletion of an unknown one.
   */
  readonly tenant?: string;
  /** `_ts` in milliseconds. It says when, but gives no order. */
  readonly at: number;
  readonly op: 'upsert' | 'delete';
  /** The operation, in the all-versions feed only. `expired`: deleted by its time to live. */
  readonly operation?: 'create' | 'replace' | 'delete' | 'expired';
  readonly doc?: D;
  readonly before?: D;
  /** True: the document came back from the archive, or leaves, unchanged. It is no event to publish or to react to. */
  readonly restored?: boolean;
  /** True: only a backfill of fields wrote this version. It is no event to publish or to react to. */
  readonly backfilled?: boolean;
  /**
   * True: a move to another shard, or a migration, wrote this version. Nothing happened to the document, so it is no event.
   * As a copy it has the epoch and the lsn of the version that it was copied from.
   */
  readonly moved?: boolean;
  /**
   * True, of a deletion by a move: the document is in another shard now. What is derived from one shard takes it back, what
   * is derived from all of them ignores it. A copy of a document that counts as deleted is a deletion without this.
   */
  readonly gone?: boolean;
  /** True: since a move wrote the document, nothing but embeds has changed it. */
  readonly echo?: boolean;
  /** True: its effect is still to come, whatever was noted of its content when a move wrote it again. */
  readonly owed?: boolean;
  /** The lsn by which its feed has it, where that is not the version's: of a copy by a move. Positions are compared with it. */
  readonly feedLsn?: number;
  readonly leaving?: Leaving;
  /** The error of the source's `upcast` or `deleted`. A projection must treat the change as poison. */
  readonly failed?: unknown;
}

/**
 * Where a change is in its feed. A copy by a move has the version of another feed, whose lsn says nothing about positions in
 * this one.
 */
export const feedLsnOf = ({ feedLsn, version }: Pick<Change, 'feedLsn' | 'version'>): number => feedLsn ?? version.lsn;

/** A page of the feed, with whole LSN groups. No `next`: another process (the Functions host) owns the position. */
export interface Page {
  readonly changes: readonly Change[];
  readonly next?: string;
  readonly range?: FeedRange;
  /** Request units. */
  readonly charge: number;
  /**
   * When the page was read, monotonic. No write starts more than the write bound after this time (PROC-L13).
   */
  readonly readAt: number;
  /** Session token of the answer. A read of the source with this token is not older than the page. */
  readonly session?: string;
  /** The span of its read, if an SDK records one. */
  readonly span?: SpanCarrier;
}

/**
 * Compares two versions of *one* identity, which the caller has compared. Equal etags mean a duplicate; else the higher
 * epoch wins, then the higher lsn. `undecided` (equal lsn, another etag): read the source again.
 */
export function compareVersions(a: Version, b: Version): 'older' | 'same' | 'newer' | 'undecided' {
  if (a.etag === b.etag && a.epoch === b.epoch) return 'same';
  if (a.epoch !== b.epoch) return a.epoch < b.epoch ? 'older' : 'newer';
  if (a.lsn !== b.lsn) return a.lsn < b.lsn ? 'older' : 'newer';
  return 'undecided';
}

/** The tenant of changes, if all are of one. */
export function onlyTenant(changes: readonly Change[]): string | undefined {
  const tenant = changes[0]?.tenant;
  return changes.every((change) => change.tenant === tenant) ? tenant : undefined;
}
