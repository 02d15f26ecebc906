import type { Container, Database } from '@azure/cosmos';
import type { UsageError } from '../base/errors.ts';
import type { Settings } from '../base/settings.ts';
import type { PipelineSource } from '../contract/declared.ts';
import type { Pipeline } from '../pipeline/specs.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { Model } from '../model/model.ts';
import type { ShardLocation } from '../shards/map/documents.ts';
import type { Database as TablesDatabase } from '../postgres/database.ts';
import type { Places } from '../shards/places/places.ts';
import type { BlobContainerOf } from './blob-container.ts';
import type { HubClients } from '../access/hub-clients.ts';

/** A loaded pipeline folder. */
export interface LoadedPipeline {
  readonly folder: string;
  readonly pipeline: Pipeline;
  readonly model: Model;
}

/** A folder's declared pipeline, without any check, with its text. */
export type DeclaredPipeline = { readonly source: PipelineSource } & (
  | { readonly pipeline: Pipeline }
  | { readonly unloadable: UsageError }
);

/** An account and a database, and what belongs to them alone. */
export interface Place {
  /** Address of the account. */
  readonly endpoint: string;
  /** Sources, sinks and the state container. */
  readonly database: Database;
  /**
   * Millrace's own documents about the changes and documents of this place: epochs, starts, locators, dead letters, the
   * deferred, archive entries, gates, shares of the budget.
   */
  readonly state: Container;
}

/** What there is once, however many places a pipeline has. */
export interface Global {
  /** The place of the settings. With a shard map it is the global place, and no shard. */
  readonly home: Place;
  /** Documents that name no place: views, fingerprints, erasures, audit records, checkpoints, locks, the status of hosts. */
  readonly state: Container;
  /** The database of the lease container; it may be in another account. */
  readonly leaseDatabase: Database;
  /** The names of leases have their place in them. */
  readonly leases: Container;
}

/** The connected services of the settings, to work on one place. Without a shard map there is no other. */
export interface Services {
  readonly place: Place;
  readonly global: Global;
  /** Every shard of the pipeline, for a comparison in the global place. Absent: it has none, or this is a shard. */
  shards?(): Promise<readonly Services[]>;
  /** The databases of shards and shard maps. */
  readonly places: Pick<Places, 'connect'>;
  /**
   * The blob container of the archive. It may not exist.
   * @throws UsageError `setting-missing`, `setting-invalid`
   */
  blobs(): Promise<BlobContainerOf>;
  /** The Event Hubs namespace. It may not exist. */
  readonly hubs: HubClients;
  /**
   * The same services for bulk work: the account throttles their reads and writes of documents first. Leases and the
   * state container's own records stay live, so that bulk work that waits doesn't lose its leases.
   */
  inBulk(): Promise<Services>;
  /**
   * The same services, to work on another place. Its state container has the name of this one's.
   * @throws UsageError `unreachable`, `denied`, `multi-region-writes`
   */
  at(location: ShardLocation): Promise<Services>;
}

/** The workspace with the services for bulk work. */
export const bulkWorkspace = (workspace: Workspace): Workspace =>
  changedWorkspace(workspace, {
    at: (folder) => bulkWorkspace(workspace.at(folder)),
    services: async () => (await workspace.services()).inBulk(),
  });

/** A workspace with other methods. Its other parts are not touched before they are used. */
export const changedWorkspace = (workspace: Workspace, methods: Partial<Workspace>): Workspace =>
  Object.create(
    workspace,
    Object.fromEntries(Object.entries(methods).map(([name, value]) => [name, { value, enumerable: true }])),
  ) as Workspace;

/** Opens a workspace; it can be passed to another thread. */
export interface WorkspaceOptions {
  /** The working directory. */
  readonly directory: string;
  readonly pipeline?: string;
  readonly env?: string;
}

/**
 * Everything that an operation works on. Each part is opened at its first use, so that a verb needs only what it uses:
 * `model types` runs without an account. Every method may throw a UsageError.
 */
export interface Workspace {
  /** How it was opened. Absent: its parts were put together by the program. */
  readonly opened?: WorkspaceOptions;
  /** The working directory. */
  readonly directory: string;
  /** The pipeline folder. It may be empty or missing. */
  readonly folder: string;
  /** This workspace with another pipeline folder, given by its path or by the path of a file in it. Absent: itself. */
  at(folder: string | undefined): Workspace;
  settings(): Settings;
  /** The folder's data-model document alone, for verbs that need no pipeline. */
  model(): Promise<Model>;
  pipeline(): Promise<LoadedPipeline>;
  /** Undefined if the folder has no pipeline. */
  declared(folder: string): Promise<DeclaredPipeline | undefined>;
  services(): Promise<Services>;
  /** The database of the tables. It connects with the first transaction. */
  tables(): TablesDatabase;
  /** The pipeline's background jobs, connected. */
  jobs(): Promise<Jobs>;
  /** Does something while the hosts of this process are stopped. Absent: none of them reads the pipeline's feeds for it. */
  whileHostsRest?<T>(act: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}
