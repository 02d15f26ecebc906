import type { FeedRange } from '../cosmos/ranges.ts';
import type { ArchiveSpec, SourceRef } from '../definition/specs.ts';
import type { SourceContainer } from '../feed/reading/mapper.ts';
import type { Change, Identity, Version } from '../feed/reading/change.ts';
import type { Fence } from '../feed/tenure/fence.ts';
import type { ChangeSource } from '../feed/reading/source.ts';
import type { SinkSession } from '../sinks/session.ts';
import type { BlobStore } from './blob-store.ts';

/** The feed of a source container, to be read from the beginning without leases. */
export interface SourceFeed {
  /** Delivers documents as they are stored: its types have no `upcast` and no `deleted`. */
  readonly source: ChangeSource;
  /** The container's feed ranges as the service has them now. */
  ranges(): Promise<readonly FeedRange[]>;
}

/** What every verb of one archive projection works on. */
export interface Archive {
  readonly spec: ArchiveSpec;
  /** The source container with its key and the pipeline's rules of the archived type. */
  readonly source: SourceContainer;
  readonly feed: SourceFeed;
  /** A session on the database of source and state; its fence says until when what was read may be acted upon. */
  session(fence: Fence): SinkSession;
  readonly stateContainer: string;
  readonly store: BlobStore;
}

/** One line of a blob: a document as it was, with its identity and version. */
export interface ArchivedDocument extends Identity {
  readonly type: string;
  readonly version: Version;
  /** `_ts` in milliseconds. */
  readonly at: number;
  readonly doc: Record<string, unknown>;
}

/** What a manifest says of one blob. Blobs are immutable; their name holds the SHA-256 of their content. */
export interface BlobRecord {
  readonly name: string;
  /** SHA-256 of the stored (compressed) bytes, hex. */
  readonly sha256: string;
  readonly bytes: number;
  readonly documents: number;
  /** Smallest and largest `_ts`, milliseconds. */
  readonly from: number;
  readonly to: number;
}

/** One period of one projection and tenant: a blob of its own, changed only under If-Match. */
export interface Manifest {
  readonly format: 1;
  readonly projection: string;
  readonly source: SourceRef;
  /** `all` without a tenant. */
  readonly tenant: string;
  /** `yyyy-mm` of the documents' archive date field, UTC. */
  readonly period: string;
  readonly blobs: readonly BlobRecord[];
}

/** When a document may leave: read once a batch, for positions move while a sweep runs. */
export interface Gate {
  /** The lsn up to which every projection has acknowledged this range; undefined: not known, so nothing may leave. */
  acknowledged(range: FeedRange): number | undefined;
  /** Whether a projection has parked a change of this document. */
  parked(document: Identity): boolean;
}

export interface SweepOptions {
  /** Milliseconds since 1970: what rules by age count from. */
  readonly now: number;
  gate(): Promise<Gate>;
  readonly signal: AbortSignal;
  /** Says what would leave, and writes nothing. */
  readonly dryRun?: boolean;
  progress?(so: SweepResult): void;
}

/** Counts of a sweep; documents that may not leave yet are told by why. */
export interface SweepResult {
  readonly projection: string;
  readonly read: number;
  /** Their entry was written by this sweep; the rest of `removed` had one already. */
  readonly archived: number;
  readonly removed: number;
  /** Stored bytes of the blobs this sweep wrote. */
  readonly bytes: number;
  /** Eligible, and the manifest of their month can't be read: they stay. */
  readonly blocked: number;
  /** Those manifests. */
  readonly faults: readonly ArchiveFault[];
  /** Eligible but held: not yet acknowledged by every projection, or parked. */
  readonly held: number;
  /** Changed between reading and removing: they stay, their entry is superseded. */
  readonly superseded: number;
  /** With a date that can't be read or lies in the future: they stay. */
  readonly undated: number;
  /** `where` or `upcast` threw, or a level of the partition key is missing: they stay. */
  readonly refused: number;
  /** The first hundred of the undated and refused, each with why. */
  readonly stayed: readonly string[];
}

export interface ArchiveFault {
  readonly code:
    | 'blob-missing'
    | 'blob-changed'
    | 'blob-unlisted'
    | 'line-missing'
    | 'line-differs'
    | 'manifest-unreadable'
    | 'manifest-wrong';
  /** In words. */
  readonly what: string;
  /** The blob or the manifest, by its name. */
  readonly blob: string;
  /** The document, where the fault is of one. */
  readonly container?: string;
  readonly key?: Identity['key'];
  readonly id?: string;
}

export interface ArchiveVerification {
  readonly projection: string;
  readonly blobs: number;
  /** Lines of the blobs: a document that was archived again has several. */
  readonly documents: number;
  /** Documents that lie in the archive at present: their entries say so. */
  readonly archived: number;
  readonly bytes: number;
  /** Intact blobs that no manifest lists and no entry names: what a crash leaves, of no harm. */
  readonly superfluous: number;
  readonly faults: readonly ArchiveFault[];
}

/** Which archived documents: all, or those that every given part holds for. */
export interface Selection {
  readonly tenant?: string;
  /** First and last period, `yyyy-mm` or `yyyy`. */
  readonly from?: string;
  readonly to?: string;
  readonly document?: Pick<Identity, 'key' | 'id'>;
}

export interface RestoreResult {
  readonly projection: string;
  readonly restored: number;
  /** Already in the container, or void: nothing to do. */
  readonly skipped: number;
  /** What was gone on without; none unless that was asked for. */
  readonly faults: readonly ArchiveFault[];
}

/** A document of the history with its version, hot or cold, as a change that nothing retracts. */
export type HistoricDocument = Change & { readonly cold: boolean };

/** Container ∪ archive, the newest version of each identity: what rebuild, verify and replay from the beginning read. */
export interface History {
  documents(container: string, signal: AbortSignal): AsyncIterable<HistoricDocument>;
}
