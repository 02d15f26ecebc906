import type { Database } from '@azure/cosmos';
import type { ErasableStore } from '../../src/access/blob-store.ts';
import type { ArchiveSpec } from '../../src/pipeline/specs.ts';
import type { SourceContainer } from '../../src/feed/reading/mapper.ts';
import type { Sift } from '../../src/kinds/archive/live-half.ts';
import type { Runner } from '../../src/kinds/runner.ts';
import type { Random } from '../support/random.ts';

export interface WorldOptions {
  readonly random: Random;
  readonly spec: ArchiveSpec;
  readonly source: SourceContainer;
  readonly stateContainer: string;
  /** Of the source container. */
  readonly rid: string;
  /** A client each: the application's, and those of the hosts, sweepers and restorers. */
  readonly databases: readonly Database[];
  readonly store: ErasableStore;
  readonly runners: () => readonly Runner[];
  /** Splits or merges a physical partition of the container. */
  readonly repartition: () => void;
  /** The container is read by its all-versions feed: the live half, and the expiry of a document by its id. */
  readonly versions?: { readonly sift: () => Sift; readonly expire: (id: string) => void };
  readonly readLagMs: number;
  readonly steps: number;
}
