import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { existsSync } from 'node:fs';
import { registerFunctions } from './app.ts';
import { pipelineFolder } from '../../runtime/pipeline/pipeline-folder.ts';
import { openWorkspace } from '../../runtime/open-workspace.ts';

export interface FunctionAppOptions {
  /** The folder that contains `functions/`. In a file of `functions/`: `new URL('../', import.meta.url)`. */
  readonly root: URL;
}

/**
 * Registers a whole function app: triggers, timers, health and operations of the pipeline that package.json names
 * ("millrace": { "pipeline": "…" }, else `pipeline/`), or MILLRACE_PIPELINE. In a build folder it takes the built
 * pipeline beside it. Never throws: errors are logged, and `…/api/millrace/health` reports them.
 */
export async function functionApp({ root }: FunctionAppOptions): Promise<void> {
  const directory = fileURLToPath(root);
  const home = packageFolder(directory);
  const pipeline = builtPipeline(home, directory);
  await registerFunctions(openWorkspace({ directory: home, ...(pipeline === undefined ? {} : { pipeline }) }));
}

/** Undefined: the workspace looks for the pipeline, and reports it if there is none. */
function builtPipeline(home: string, directory: string): string | undefined {
  // This folder is named by the user and not part of the build.
  if (process.env['MILLRACE_PIPELINE']) return undefined;
  try {
    return join(directory, relative(home, pipelineFolder(home)));
  } catch {
    return undefined;
  }
}

/** The nearest folder with a package.json: the app's root, of which `dist/` is a part. */
function packageFolder(directory: string): string {
  const parent = dirname(directory);
  return existsSync(join(directory, 'package.json')) || parent === directory ? directory : packageFolder(parent);
}
