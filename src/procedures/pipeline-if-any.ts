import { UsageError } from '../base/errors.ts';
import type { LoadedPipeline, Workspace } from '../runtime/workspace.ts';

/** For verbs that need no pipeline. One that exists must load. Undefined: the folder has none. */
export async function pipelineIfAny(workspace: Pick<Workspace, 'pipeline'>): Promise<LoadedPipeline | undefined> {
  try {
    return await workspace.pipeline();
  } catch (error) {
    if (error instanceof UsageError && error.code === 'pipeline-missing') return undefined;
    throw error;
  }
}
