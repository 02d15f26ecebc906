import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { existsSync } from 'node:fs';
import { registerFunctions } from './app.ts';
import { pipelineFolder } from '../../runtime/pipeline-folder.ts';
import { openWorkspace } from '../../runtime/open-workspace.ts';

export interface FunctionAppOptions {
  /** The folder that `functions/` lies in, from the file that calls: `new URL('../', import.meta.url)`. */
  readonly root: URL;
}

/**
 * Registers a whole function app: triggers, timers, health and operations of the pipeline that package.json names
 * ("millrace": { "pipeline": "…" }, else `pipeline/`), or MILLRACE_PIPELINE. Below a build folder the pipeline is the
 * one that was built beside it. Never throws: what is wrong is logged, and `…/api/millrace/health` says it.
 */
export async function functionApp({ root }: FunctionAppOptions): Promise<void> {
  const directory = fileURLToPath(root);
  const home = packageFolder(directory);
  const pipeline = builtPipeline(home, directory);
  await registerFunctions(openWorkspace({ directory: home, ...(pipeline === undefined ? {} : { pipeline }) }));
}

/** Undefined: the workspace finds it, or says why not when it is asked. */
function builtPipeline(home: string, directory: string): string | undefined {
  // No part of the build.
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
