import type { Container, CosmosClient, Database } from '@azure/cosmos';
import type { ContainerClient } from '@azure/storage-blob';
import type { UsageError } from '../base/errors.ts';
import type { Settings } from '../base/settings.ts';
import type { PipelineSource } from '../contract/declared.ts';
import type { Pipeline } from '../definition/specs.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { Model } from '../model/model.ts';
import type { HubClients } from '../sinks/hub-clients.ts';

/** A pipeline folder as it was loaded. */
export interface LoadedPipeline {
  readonly folder: string;
  readonly pipeline: Pipeline;
  /** Path of the data-model document. */
  readonly modelFile: string;
  readonly model: Model;
}

/** A folder's pipeline as it is declared, held against nothing, with its text. */
export type DeclaredPipeline = { readonly source: PipelineSource } & (
  | { readonly pipeline: Pipeline }
  | { readonly unloadable: UsageError }
);

/** The account of the settings, connected and asked once. */
export interface Services {
  readonly cosmos: CosmosClient;
  /** Sources, sinks and the state container. */
  readonly database: Database;
  /** Of the lease container; another account's where the settings say so. */
  readonly leaseDatabase: Database;
  readonly leases: Container;
  readonly state: Container;
  /**
   * Where the archive lies; nobody has asked yet whether it is there.
   * @throws UsageError naming the setting that is missing or wrong
   */
  blobs(): Promise<ContainerClient>;
  /** The Event Hubs namespace; nobody has asked yet whether it is there. */
  readonly hubs: HubClients;
}

/**
 * What an operation works on. All of it is made when first asked for, so that a verb needs only what it uses: `model
 * types` runs without an account. Every method may throw a UsageError.
 */
export interface Workspace {
  /** The working directory. */
  readonly directory: string;
  /** The pipeline folder, whether it holds anything or not. */
  readonly folder: string;
  /** The same over another pipeline folder, which a file in it may stand for; absent: itself. */
  at(folder: string | undefined): Workspace;
  settings(): Settings;
  /** The folder's data-model document alone, for what needs no pipeline yet. */
  model(): Promise<Model>;
  pipeline(): Promise<LoadedPipeline>;
  /** Undefined where the folder has no pipeline. */
  declared(folder: string): Promise<DeclaredPipeline | undefined>;
  services(): Promise<Services>;
  /** The pipeline's background jobs, connected. */
  jobs(): Promise<Jobs>;
  close(): Promise<void>;
}
