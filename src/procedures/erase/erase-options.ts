import type { ErasableStore } from '../../access/blob-store.ts';
import type { Clock } from '../../base/clock.ts';
import type { Jobs } from '../../jobs/jobs.ts';
import type { Model } from '../../model/model.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import type { Database } from '../../postgres/database.ts';
import type { DocumentAccess } from '../../access/document-access.ts';
import type { AskedTenant } from '../tenants/tenant-flag.ts';

/** A place of the pipeline, which has documents and records of its own. Without shards there is one. */
export interface ErasePlace {
  /** Absent: the place of the settings. */
  readonly shard?: string;
  readonly services: Services;
  readonly access: DocumentAccess;
  /** The containers of the model that it has. */
  readonly containers: Model['containers'];
}

/** Where a tenant may have documents, as the shard map says now. */
export interface ErasePlaces {
  /** That of the settings is the first. */
  readonly all: readonly [ErasePlace, ...ErasePlace[]];
  /** Shards whose database is lost, so that they can't be looked at. */
  readonly detached: readonly string[];
}

/** What the removal and the search of a tenant work on. */
export interface EraseParts {
  /** The whole pipeline. */
  readonly loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>;
  /** Those of the settings. */
  readonly services: Services;
  readonly places: () => Promise<ErasePlaces>;
  /** @throws MillraceError `tenant-moving` while keys move that may be the tenant's */
  readonly assertStill: () => Promise<void>;
  readonly asked: AskedTenant;
  /** Undefined: no storage account is set. */
  readonly store: ErasableStore | undefined;
  /** Undefined: the settings have no datastore of jobs. */
  readonly jobs: Jobs | undefined;
  /** Undefined: the pipeline has no tables. */
  readonly tables: Database | undefined;
  /** How old a read may be, milliseconds (ASM-A3). */
  readonly readLagMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** What a step works on in one place. */
export type PlaceParts = EraseParts & ErasePlace;

/** How results call something in a place. */
export const inPlace = ({ shard }: Pick<ErasePlace, 'shard'>, what: string): string =>
  shard === undefined ? what : `${shard}/${what}`;

export interface Removed {
  /** Documents that had to go. */
  readonly found: number;
  /** Of these, those that are known to be gone. Of the others the answer was lost, or they were written meanwhile. */
  readonly removed: number;
}

/** Counts what was removed, by place. */
export type Count = (place: string, removed: Removed) => void;

export const all = (removed: number): Removed => ({ found: removed, removed });
