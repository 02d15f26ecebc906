import type { FeedRange } from '../../../cosmos/ranges.ts';
import type { FeedMode } from '../../reading/source.ts';

/**
 * The forms of lease documents. .NET (and the Functions trigger): one for each physical partition (v0) or range (v1).
 * Java: of `handleChanges` (pk), or of `handleLatestVersionChanges` and `handleAllVersionsAndDeletesChanges` (epk).
 */
export const DIALECTS = ['dotnet-v0', 'dotnet-v1', 'java-pk', 'java-epk'] as const;
export type DialectName = (typeof DIALECTS)[number];

/** The content of a lease document, in any dialect. */
export interface LeaseContent {
  readonly dialect: DialectName;
  /** The physical partition's id, or `min-max`. */
  readonly token: string;
  /** Absent in Java's pk leases and in old .NET leases: they mean the range of the partition `token`. */
  readonly range?: FeedRange;
  readonly owner: string | null;
  /** Quoted LSN; absent: no checkpoint yet. */
  readonly position?: string;
  /** The feed mode of the position. It never changes for a lease. */
  readonly mode: FeedMode;
  /** When the lease was written: milliseconds by the writer's clock, or by the service's (`_ts`) if the writer stored no time. */
  readonly writtenAt?: number;
}

/** A lease to write. */
export interface NewLease {
  /** Everything before `..`. */
  readonly prefix: string;
  /** The id of the physical partition, if the range is exactly one. */
  readonly partition?: string | undefined;
  readonly range: FeedRange;
  readonly position?: string | undefined;
  readonly mode?: FeedMode | undefined;
  /** The monitored container's `_rid`; Java's epk tokens hold it. */
  readonly rid?: string | undefined;
  readonly owner?: string | null | undefined;
}

/** The fields that only Millrace hosts write and read. */
export interface OwnFields {
  /** Absent until one of our hosts has taken the lease. */
  readonly tenure?: string;
  readonly takenFrom?: { readonly owner: string; readonly tenure: string };
  readonly shared?: readonly { readonly lsn: number; readonly parts: number }[];
  /** The format of these fields; absent: 1. */
  readonly format?: number;
}

/** A stored lease. It may have more fields, of its writer or of other tools. */
export interface LeaseDocument extends Record<string, unknown> {
  id: string;
  LeaseToken: string;
  ContinuationToken: string | null;
  Owner: string | null;
  /** ISO 8601 UTC. */
  timestamp: string;
  version?: number;
  FeedRange?: { Range: { min: string; max: string } };
  /** The same field, with Java's name. */
  feedRange?: { Range: { min: string; max: string; isMinInclusive: boolean; isMaxInclusive: boolean } };
  Mode?: string;
  properties?: Record<string, string>;
  /** The fields of Millrace hosts. Other hosts drop them. */
  millrace?: OwnFields;
  /** The partition key of a lease container with the key `/partitionKey`. */
  partitionKey?: string;
  _etag?: string;
}
