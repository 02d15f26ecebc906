import type { FeedRange } from '../../cosmos/ranges.ts';

/** A full partition key, one value a level, in the order of the container's definition. */
export type Key = readonly (string | number | boolean | null)[];

/** Identity is (container, key, id). */
export interface Identity {
  readonly container: string;
  readonly key: Key;
  readonly id: string;
}

/** Orders the versions of one identity, and nothing else (A1). */
export interface Version {
  /** Generation of the source's numbering; raised when lsn values lose their order. */
  readonly epoch: number;
  readonly lsn: number;
  readonly etag: string;
}

/**
 * One entry of the feed. `doc` is the current document, without a promise about the literal text of dates: the
 * Functions host rewrites them. `archive` is a removal from the hot container that retracts nothing.
 */
export interface Change<D = Record<string, unknown>> extends Identity {
  /** The document's `type`; empty where it has none, or is deleted without an image of what it was. */
  readonly type: string;
  readonly version: Version;
  /**
   * A deletion without an image, in a container of several types: what `type` says is what whoever gets it reads there,
   * and may never have been the document's.
   */
  readonly typeUnknown?: true;
  /** `_ts` in milliseconds; says when, never in which order. */
  readonly at: number;
  readonly op: 'upsert' | 'delete' | 'archive';
  /** What was done, where the feed tells (all versions and deletes); `expired`: deleted by its time to live. */
  readonly operation?: 'create' | 'replace' | 'delete' | 'expired';
  readonly doc?: D;
  readonly before?: D;
  /** It came back from the archive as it was: no new event to publish or to react to. State projections apply it as any. */
  readonly restored?: boolean;
  /** What the source's `upcast` or `deleted` threw: whoever applies the change treats it as poison. */
  readonly failed?: unknown;
}

/** Whole LSN groups only. No `next` means that somebody else (the Functions host) owns the position. */
export interface Page {
  readonly changes: readonly Change[];
  readonly next?: string;
  readonly range?: FeedRange;
  /** Request units. */
  readonly charge: number;
  /** When the page was read, on the monotonic clock: no write starts more than the write bound after this (R0). */
  readonly readAt: number;
  /** Session token of the answer: a read of the source with it is not older than the page. */
  readonly session?: string;
}

/**
 * How two versions of *one* identity stand: an equal etag is a duplicate, else the higher epoch and then the higher lsn
 * wins. `undecided` (equal lsn, other etag) means: read the source again. The caller has compared the identities.
 */
export function compareVersions(a: Version, b: Version): 'older' | 'same' | 'newer' | 'undecided' {
  if (a.etag === b.etag && a.epoch === b.epoch) return 'same';
  if (a.epoch !== b.epoch) return a.epoch < b.epoch ? 'older' : 'newer';
  if (a.lsn !== b.lsn) return a.lsn < b.lsn ? 'older' : 'newer';
  return 'undecided';
}
