import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Settings } from '../../base/settings.ts';
import { sharedError } from '../../base/shared-errors.ts';
import type { PublishedEvent } from '../../emulator/index.ts';
import type { Jobs } from '../../jobs/jobs.ts';
import type { Context } from '../../procedures/context.ts';
import type { Registry } from '../../verbs/registry.ts';
import type { LoadedPipeline, Services, Workspace } from '../../runtime/workspace.ts';
import { importOnce } from '../../runtime/pipeline/fresh-import.ts';
import { declaredPipeline } from '../../runtime/pipeline/load-pipeline.ts';
import { openJobs } from '../../runtime/open-jobs.ts';
import { once } from '../../base/once.ts';
import { pipelineFolder } from '../../runtime/pipeline/pipeline-folder.ts';
import { openServices } from '../../runtime/services.ts';
import { withTables } from '../../runtime/tables.ts';
import { type Database, openDatabase } from '../../postgres/database.ts';
import { exportLine } from './emulator/export-line.ts';
import { type Beside, type EmbeddedInput, startBeside } from './embedded.ts';
import { startHubs } from './hubs.ts';
import { type DevJobs, startDevJobs } from './dev-jobs.ts';
import { hasTables, usesBlobs } from './may-reload.ts';
import type { Revision } from './watched-pipeline.ts';
import { INSTALL, isPgliteInstalled, startPglite } from '../../postgres/pglite.ts';

export interface StageInput extends EmbeddedInput {
  readonly port: number;
  readonly account: boolean;
  readonly once: boolean;
}

/** The settings and services of a development run. */
export interface Stage extends AsyncDisposable {
  readonly settings: Settings;
  readonly services: Services;
  /** For operations on this run: the dashboard's. */
  readonly workspace: Workspace;
  /** The pipeline as it was opened with, its tables bound to the run's database. */
  readonly loaded: LoadedPipeline;
  /** The same pipeline, changed, bound as `loaded` is. */
  bind(changed: LoadedPipeline): LoadedPipeline;
  /** Lets operations on this run work with a changed pipeline. */
  show(changed: Revision): void;
  /** Says how the hosts of the run are stopped while an operation acts. */
  restBy(rest: NonNullable<Workspace['whileHostsRest']>): void;
  /** The database of the tables; absent without any. */
  readonly tables?: Database;
  /** Aborted if one of the embedded servers ends unexpectedly. */
  readonly ended?: AbortSignal;
  /** The events that an event hub of the stand-in holds; absent without a stand-in. */
  readonly eventsOf?: (hub: string) => PublishedEvent[];
}

/** Opens the accounts of a development run: the embedded servers, or with `account` those of the settings. */
export async function openStage(
  options: StageInput,
  { workspace, screen }: Context,
  given: LoadedPipeline,
  registry: () => Registry,
): Promise<Stage> {
  const { folder, pipeline } = given;
  if (options.account) {
    return {
      settings: workspace.settings(),
      services: await workspace.services(),
      workspace,
      ...bound(given, workspace.tables()),
      bind: (changed) => bound(changed, workspace.tables()).loaded,
      show: () => undefined,
      restBy: () => undefined,
      [Symbol.asyncDispose]: async () => {},
    };
  }
  const { data } = options;
  const server = await startBeside(options.port, options);
  const folderOf = (name: string): string | undefined => (data === undefined ? undefined : join(data, name));
  const hubs = await startHubs(pipeline, folderOf('event-hubs')).catch((error: unknown) => abandon(error, server));
  const postgres = hasTables(pipeline)
    ? await startPglite({ folder: folderOf('tables') }).catch((error: unknown) => abandon(error, hubs, server))
    : undefined;
  // Archives and the checkpoints of ingests are blobs.
  const blobs = usesBlobs(pipeline)
    ? (folderOf('blobs') ?? (await mkdtemp(join(tmpdir(), 'millrace-blobs-'))))
    : undefined;
  // One connection, because the embedded PostgreSQL has one session.
  const opened = postgres && openDatabase(postgres.url, { max: 1 });
  const { loaded, tables } = bound(given, opened);
  let shown: Revision = { loaded, importer: importOnce };
  let rest: NonNullable<Workspace['whileHostsRest']> = (act) => act();
  const database = pipeline.name;
  if (!options.once) {
    screen.line(`Cosmos DB listens at ${server.endpoint}. For other terminals:`);
    screen.line(exportLine('COSMOS', server.connectionString));
    screen.line(exportLine('COSMOS_DATABASE', database));
    // A command there would take the default folder's pipeline.
    if (pipelineFolder(workspace.directory) !== folder) screen.line(exportLine('MILLRACE_PIPELINE', folder));
    if (pipeline.shards) screen.line(exportLine('SHARD_MAPS_DATABASE', `${database}-maps`));
    if (blobs !== undefined) screen.line(exportLine('STORAGE', pathToFileURL(blobs).href));
    if (hubs) screen.line(exportLine('EVENTHUBS', hubs.connectionString));
    if (postgres) screen.line(exportLine('POSTGRES_URL', postgres.url));
  }
  const account = { kind: 'key', endpoint: server.endpoint, key: server.key } as const;
  const settings: Settings = {
    cosmos: account,
    database,
    leases: { account, database, container: 'leases' },
    stateContainer: 'millrace',
    preferredRegions: [],
    ...(pipeline.shards && { shardMaps: { endpoint: server.endpoint, database: `${database}-maps` } }),
    ...(blobs !== undefined && { storage: { account: { kind: 'folder', path: blobs }, container: 'archive' } }),
    ...(postgres && { postgresUrl: postgres.url }),
    ...(hubs && {
      eventHubs: { account: { kind: 'key', connectionString: hubs.connectionString }, checkpoints: 'checkpoints' },
    }),
  };
  const services = await openServices(settings);
  // The first question about jobs starts their datastore, so only the page of jobs asks it: `settings` names no address.
  let asked: Promise<Jobs> | undefined;
  const openQueue = async (): Promise<Jobs> => {
    if (!jobs)
      throw sharedError('setting-missing', 'Background jobs need the embedded PostgreSQL, which is not installed', {
        hint: `Run ${INSTALL}, and start \`millrace dev\` again.`,
      });
    await jobs.ready();
    return openJobs(jobs.url, loaded.pipeline);
  };
  const own: Workspace = {
    directory: workspace.directory,
    folder,
    at: (of) => workspace.at(of),
    settings: () => settings,
    model: async () => shown.loaded.model,
    pipeline: async () => shown.loaded,
    declared: (of) => (of === folder ? declaredPipeline(of, shown.importer) : workspace.declared(of)),
    services: async () => services,
    tables: () => tables ?? workspace.tables(),
    jobs: once(() => (asked = openQueue())),
    whileHostsRest: (act) => rest(act),
    close: async () => undefined,
  };
  // A new project hasn't its packages, and must not see an error of something that it has never asked for.
  const jobs: DevJobs | undefined =
    options.once || !isPgliteInstalled()
      ? undefined
      : await startDevJobs({
          folder: folderOf('jobs'),
          screen,
          registry,
          workspace: { ...own, settings: () => ({ ...settings, jobsUrl: jobs?.url ?? '' }) },
        });
  if (jobs) screen.line(exportLine('JOBS_URL', jobs.url));
  else if (!options.once) screen.line(`For background jobs: ${INSTALL}.`);
  return {
    settings: jobs ? { ...settings, jobsUrl: jobs.url } : settings,
    services,
    workspace: own,
    loaded,
    bind: (changed) => bound(changed, opened).loaded,
    show: (changed) => void (shown = changed),
    restBy: (by) => void (rest = by),
    ...(tables && { tables }),
    ...(hubs && { eventsOf: (hub: string) => hubs.events(hub) }),
    ended: server.ended,
    [Symbol.asyncDispose]: async () => {
      await (await asked?.catch(() => undefined))?.close();
      await jobs?.[Symbol.asyncDispose]();
      services.close();
      await tables?.close();
      await postgres?.[Symbol.asyncDispose]();
      await hubs?.close();
      if (blobs !== undefined && data === undefined) await rm(blobs, { recursive: true, force: true });
      await server.close();
    },
  };
}

/** The pipeline with a database for its tables, if it has any. */
const bound = (loaded: LoadedPipeline, database: Database | undefined): Pick<Stage, 'loaded' | 'tables'> =>
  database && hasTables(loaded.pipeline) ? { loaded: withTables(loaded, database), tables: database } : { loaded };

async function abandon(error: unknown, ...started: (Pick<Beside, 'close'> | undefined)[]): Promise<never> {
  for (const server of started) await server?.close();
  throw error;
}
