import type { FeedRange } from '../../../cosmos/ranges.ts';
import type { FeedMode } from '../../reading/source.ts';

/**
 * Who writes lease documents, and how: .NET (and the Functions trigger) one a physical partition or one a range, Java by
 * `handleChanges` (pk) or by `handleLatestVersionChanges` and `handleAllVersionsAndDeletesChanges` (epk).
 */
export const DIALECTS = ['dotnet-v0', 'dotnet-v1', 'java-pk', 'java-epk'] as const;
export type DialectName = (typeof DIALECTS)[number];

/** What a lease document says, whoever wrote it. */
export interface LeaseContent {
  readonly dialect: DialectName;
  /** The physical partition's id, or `min-max`. */
  readonly token: string;
  /** Absent in Java's pk leases and in older ones of .NET: it is that of the partition `token`. */
  readonly range?: FeedRange;
  readonly owner: string | null;
  /** Quoted LSN; absent: nothing was checkpointed yet. */
  readonly position?: string;
  /** Which feed its position is of; a lease is of one for its life. */
  readonly mode: FeedMode;
  /** By the writer's clock, milliseconds; by the service's (`_ts`) where the writer left it out. */
  readonly writtenAt?: number;
}

/** A lease to be written anew. */
export interface NewLease {
  /** Everything before `..`. */
  readonly prefix: string;
  /** The physical partition that the range is, if it is one. */
  readonly partition?: string | undefined;
  readonly range: FeedRange;
  readonly position?: string | undefined;
  readonly mode?: FeedMode | undefined;
  /** The monitored container's `_rid`; Java's epk tokens hold it. */
  readonly rid?: string | undefined;
  readonly owner?: string | null | undefined;
}

/** What only our hosts write and read. */
export interface OwnFields {
  /** Absent until one of our hosts has taken the lease. */
  readonly tenure?: string;
  readonly takenFrom?: { readonly owner: string; readonly tenure: string };
  readonly shared?: readonly { readonly lsn: number; readonly parts: number }[];
}

/** The fields that any lease has, and whatever others its writer or somebody after it put there. */
export interface LeaseDocument extends Record<string, unknown> {
  id: string;
  LeaseToken: string;
  ContinuationToken: string | null;
  Owner: string | null;
  /** ISO 8601 UTC. */
  timestamp: string;
  version?: number;
  FeedRange?: { Range: { min: string; max: string } };
  /** Java's name of the same. */
  feedRange?: { Range: { min: string; max: string; isMinInclusive: boolean; isMaxInclusive: boolean } };
  Mode?: string;
  properties?: Record<string, string>;
  /** Of our hosts; others neither know nor keep it. */
  millrace?: OwnFields;
  /** The partition key of a lease container with the key `/partitionKey`. */
  partitionKey?: string;
  _etag?: string;
}
