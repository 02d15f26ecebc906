import type { ErasableStore } from '../../archive/blob-store.ts';
import type { Clock } from '../../base/clock.ts';
import type { Jobs } from '../../jobs/jobs.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import type { Database } from '../../postgres/database.ts';
import type { DocumentAccess } from '../../sinks/document-access.ts';
import type { AskedTenant } from './asked.ts';

/** What the removal and the search of a tenant work on. */
export interface EraseParts {
  readonly loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>;
  readonly services: Services;
  readonly asked: AskedTenant;
  /** Undefined: no storage account is set. */
  readonly store: ErasableStore | undefined;
  /** Undefined: the settings have no datastore of jobs. */
  readonly jobs: Jobs | undefined;
  /** Undefined: the pipeline has no tables. */
  readonly tables: Database | undefined;
  readonly access: DocumentAccess;
  /** How old a read may be, milliseconds (ASM-A3). */
  readonly readLagMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface Removed {
  /** Documents that had to go. */
  readonly found: number;
  /** Of these, those that are known to be gone. Of the others the answer was lost, or they were written meanwhile. */
  readonly removed: number;
}

/** Counts what was removed, by place. */
export type Count = (place: string, removed: Removed) => void;

export const all = (removed: number): Removed => ({ found: removed, removed });
