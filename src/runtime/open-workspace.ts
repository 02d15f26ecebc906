import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { type Settings, loadSettings, requireJobsUrl } from '../base/settings.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { LoadedPipeline, Services, Workspace, WorkspaceOptions } from './workspace.ts';
import { declaredPipeline, loadModel, loadPipeline } from './pipeline/load-pipeline.ts';
import { pipelineFolder } from './pipeline/pipeline-folder.ts';
import { openJobs } from './open-jobs.ts';
import { type OpenServices, type Transport, openServices } from './services.ts';
import { lazyDatabase, withTables } from './tables.ts';

/** The file name that the modelling prompt gives the document. */
const MODEL_DOCUMENT = 'cosmosdb_data_model.md';

/**
 * A workspace over a pipeline folder and the settings of the process. It reads and connects only what a call needs.
 * `transport`: as for `openServices`.
 */
export function openWorkspace(opened: WorkspaceOptions, transport?: Transport): Workspace {
  const { directory, pipeline, env } = opened;
  let settings: Settings | undefined;
  let services: Promise<OpenServices> | undefined;
  let jobs: Promise<Jobs> | undefined;
  const tables = lazyDatabase(() => workspace.settings());
  const over = (folderOf: () => string): Workspace => {
    let folder: string | undefined;
    let loaded: Promise<LoadedPipeline> | undefined;
    const of: Workspace = {
      ...shared,
      get folder() {
        return (folder ??= folderOf());
      },
      at: (named) => (named === undefined ? of : over(() => folderAt(resolve(directory, named)))),
      model: () => loadModel(join(of.folder, MODEL_DOCUMENT)),
      pipeline: () => (loaded ??= loadPipeline(of.folder).then((read) => withTables(read, tables))),
    };
    return of;
  };
  const shared = {
    opened,
    directory,
    settings: () => (settings ??= loadSettings({ env, directory })),
    declared: (folder) => declaredPipeline(folder),
    services: (): Promise<Services> => {
      services ??= openServices(workspace.settings(), transport);
      // A failure is not cached: the next call may find the account back, or the setting corrected.
      services.catch(() => (services = undefined));
      return services;
    },
    tables: () => tables,
    jobs: () => {
      jobs ??= openQueue();
      jobs.catch(() => (jobs = undefined));
      return jobs;
    },
    close: async () => {
      await (await jobs?.catch(() => undefined))?.close();
      const open = await services?.catch(() => undefined);
      open?.close();
      await tables.close();
    },
  } satisfies Partial<Workspace>;
  const workspace = over(() => pipelineFolder(directory, pipeline));
  const openQueue = async (): Promise<Jobs> =>
    openJobs(requireJobsUrl(workspace.settings()), (await workspace.pipeline()).pipeline);
  return workspace;
}

const folderAt = (path: string): string => (statSync(path, { throwIfNoEntry: false })?.isFile() ? dirname(path) : path);
