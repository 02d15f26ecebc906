import type { Container } from '@azure/cosmos';
import type { Meter } from '../cosmos/budget/charge-meter.ts';
import type { FeedRange } from '../cosmos/ranges.ts';
import type { ArchiveSpec, SourceRef } from '../pipeline/specs.ts';
import type { Erased } from '../engine/erasures/watch.ts';
import type { SourceContainer } from '../feed/reading/mapper.ts';
import type { Change, Identity, Key, Version } from '../feed/reading/change.ts';
import type { Fence } from '../feed/tenure/fence.ts';
import type { FeedMode, KeyedSource } from '../feed/reading/source.ts';
import type { DocumentAccess } from '../access/document-access.ts';
import type { BlobStore, HoldingStore } from '../access/blob-store.ts';
import type { Holds } from './holds.ts';
import type { Sweeper } from './sweep/sweepers.ts';
import type { Turns } from './sweep/tenant-turns.ts';

/** The feed of a source container, for reads from the beginning without leases. */
export interface SourceFeed {
  /** Delivers documents as they are stored: its types have no `upcast` and no `deleted`. */
  readonly source: KeyedSource;
  /** The container's feed ranges now. */
  ranges(): Promise<readonly FeedRange[]>;
  /** For queries by an index. */
  readonly container: Container;
  /** Counts those queries. */
  readonly meter?: Meter;
  /** The effective partition key of a full key, as in the ends of its range. */
  hashOf(key: Key): string;
}

/** One archive projection with its services: for sweep, restore, verify and list. */
export interface Archive {
  readonly spec: ArchiveSpec;
  /** The source container with its key and the pipeline's rules of the archived type. */
  readonly source: SourceContainer;
  readonly feed: SourceFeed;
  /** Access to the database of source and state. Its fence limits how long the caller may act on what it read. */
  access(fence: Fence): DocumentAccess;
  readonly stateContainer: string;
  readonly store: BlobStore & Partial<HoldingStore>;
  /** Several places share the store: blobs that no entry of this one names are another's. Absent: the store is its own. */
  readonly shared?: boolean;
  /** Which tenants are under a legal hold. Absent: none. */
  readonly holds?: Holds;
  /** The feed by which the pipeline reads the source. With all versions a document leaves by expiry. */
  readonly mode: FeedMode;
}

/** One line of a blob: a document as it was stored, with its identity and version. */
export interface ArchivedDocument extends Identity {
  readonly type: string;
  readonly version: Version;
  /** `_ts` in milliseconds. */
  readonly at: number;
  readonly doc: Record<string, unknown>;
  /** Absent: 1. */
  readonly format?: number;
}

/** A manifest's record of one blob. Blobs are immutable; their name contains the SHA-256 of their content. */
export interface BlobRecord {
  readonly name: string;
  /** SHA-256 of the stored (compressed) bytes, hex. */
  readonly sha256: string;
  readonly bytes: number;
  readonly documents: number;
  /** Smallest and largest `_ts`, milliseconds. */
  readonly from: number;
  readonly to: number;
  /** When the rule `keep` made its documents count as archived no more, milliseconds. Absent: it has not. */
  readonly expired?: number | undefined;
}

/** The blobs of one projection, tenant and period. It is stored as a blob itself and changed only under If-Match. */
export interface Manifest {
  readonly format: number;
  readonly projection: string;
  readonly source: SourceRef;
  /** `all` without a tenant. */
  readonly tenant: string;
  /** `yyyy-mm` of the documents' archive date field, UTC. */
  readonly period: string;
  readonly blobs: readonly BlobRecord[];
}

/** Says whether a document may leave. Read once for each chunk, since positions advance while a sweep runs. */
export interface Gate {
  /** The lsn up to which every projection has acknowledged this range; undefined: unknown, so no document may leave. */
  acknowledged(range: FeedRange): number | undefined;
  /** Whether a projection has parked a change of this document. */
  parked(document: Identity): boolean;
  /** Whether hosts may have deferred a change of this document, and not applied it yet. */
  waits(document: Identity): boolean;
  /** To be called when all that was written by it was answered. */
  ended?(): Promise<void>;
}

export interface SweepOptions {
  /** Milliseconds since 1970; the age of a document counts to this time. */
  readonly now: number;
  gate(): Promise<Gate>;
  readonly signal: AbortSignal;
  /** Counts what would leave, and writes nothing. */
  readonly dryRun?: boolean;
  /** Stops after this time, milliseconds. The next sweep goes on, since what has left is not found again. */
  readonly withinMs?: number | undefined;
  /** For a sweep with `withinMs`: no tenant is served before others had their turn, also over several sweeps. */
  readonly turns?: Turns | undefined;
  /** This sweep among others. Absent: it takes all that is due. */
  readonly sweeper?: Sweeper | undefined;
  /** Request units that it spends a second on average; absent: as many as its client may. */
  readonly ruPerSecond?: number | undefined;
  progress?(so: SweepResult): void;
  /** Archives the documents of this tenant only. Absent: of all. */
  readonly tenant?: string | undefined;
  /** Which tenants are erased now: their documents stay. Absent: the pipeline declares no tenant. */
  readonly erased?: ReadErased | undefined;
}

export type ReadErased = () => Promise<Erased>;

/** Counts of a sweep; documents that may not leave yet are counted by reason. */
export interface SweepResult {
  readonly projection: string;
  readonly read: number;
  /** False: its time was up before it had looked at everything that is due. */
  readonly complete: boolean;
  /** Documents whose entry this sweep wrote; the rest of `removed` had one already. */
  readonly archived: number;
  readonly removed: number;
  /** Stored bytes of the blobs this sweep wrote. */
  readonly bytes: number;
  /** Eligible, but the manifest of their month can't be read: they stay. */
  readonly blocked: number;
  /** Those manifests. */
  readonly faults: readonly ArchiveFault[];
  /** Eligible, but not yet acknowledged by every projection, or parked: they stay. */
  readonly held: number;
  /** Eligible, but their tenant is erased: they stay. */
  readonly erased: number;
  /** Changed between read and removal: they stay, and their entry is superseded. */
  readonly superseded: number;
  /** Their date can't be read: they stay. A sweep looks at some hundred of them, not at all. */
  readonly undated: number;
  /** `where` or `upcast` threw, or a level of the partition key is missing: they stay. */
  readonly refused: number;
  /** The first hundred of the undated and refused, each with its reason. */
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
  /** The document, if the fault concerns one. */
  readonly container?: string;
  readonly key?: Identity['key'];
  readonly id?: string;
}

export interface ArchiveVerification {
  readonly projection: string;
  readonly blobs: number;
  /** Lines of the blobs: a document that was archived again has several. */
  readonly documents: number;
  /** Documents that are archived now, by their entries. */
  readonly archived: number;
  readonly bytes: number;
  /** Intact blobs that no manifest lists and no entry names. A crash leaves them; they do no harm. */
  readonly superfluous: number;
  /**
   * Of a sample: how many blobs were asked for, of how many, and how many of the drawn ones lie in the Archive tier and
   * were not read. Absent: every blob was read.
   */
  readonly sampled?: { readonly asked: number; readonly of: number; readonly offline: number };
  readonly faults: readonly ArchiveFault[];
}

/** Selects archived documents: those that meet every given condition, all without one; or the named ones. */
export type Selection =
  | {
      readonly tenant?: string;
      /** First and last period, `yyyy-mm` or `yyyy`. */
      readonly from?: string;
      readonly to?: string;
    }
  | { readonly documents: readonly Pick<Identity, 'key' | 'id'>[] };

export interface RestoreResult {
  readonly projection: string;
  readonly restored: number;
  /** Already in the container, or void: nothing to do. */
  readonly skipped: number;
  /** Left in the archive, because their tenant is erased. */
  readonly erased: number;
  /** Left in the archive, because their keys move to another shard, or are there. */
  readonly moving: number;
  /** Damage that was skipped; empty without `skipDamaged`. */
  readonly faults: readonly ArchiveFault[];
}

/** Counts of copies of archived documents in another container. */
export interface CopyResult {
  readonly projection: string;
  readonly into: string;
  /** Written where no document stood. */
  readonly copied: number;
  /** Written over another version. */
  readonly replaced: number;
  /** Stood there already as they were archived, or are not archived. */
  readonly skipped: number;
  /** Another version stands there, and stays. */
  readonly differ: number;
  /** The first hundred of them, by key and id. */
  readonly different: readonly string[];
  /** Not copied, because their tenant is erased. */
  readonly erased: number;
  /** Not copied here, because their keys move, or are on another shard. */
  readonly moving: number;
  /** Damage that was skipped; empty without `skipDamaged`. */
  readonly faults: readonly ArchiveFault[];
}

/** A document of the history, hot or cold, as an upsert with its version. */
export type HistoricDocument = Change & { readonly cold: boolean };

/** Container ∪ archive, the newest version of each identity: for rebuild, verify and replay from the beginning. */
export interface History {
  documents(container: string, signal: AbortSignal): AsyncIterable<HistoricDocument>;
}
