import { UsageError } from '../base/errors.ts';
import type { Workspace } from './workspace.ts';

const NAME_ANOTHER = 'name another container in LEASES_CONTAINER';
const APPLY = 'Create it with `millrace model apply`';

/** By error code: the hint if the workspace has a pipeline, and the hint if it has none. */
const HINTS: Readonly<Record<string, readonly [withPipeline: string, without: string | undefined]>> = {
  'container-missing': ['Create the containers of the model with `millrace model apply`.', undefined],
  'lease-container-missing': [`${APPLY}, or ${NAME_ANOTHER}.`, `Create it, or ${NAME_ANOTHER}.`],
  'lease-container-key': [
    `Leases need the partition key /id or /partitionKey. ${APPLY}, or ${NAME_ANOTHER}.`,
    `Leases need the partition key /id or /partitionKey. Create such a container, or ${NAME_ANOTHER}.`,
  ],
  'lease-container-denied': [
    `Give the identity the role "Cosmos DB Built-in Data Contributor" on it, or ${NAME_ANOTHER}.`,
    `Give the identity the role "Cosmos DB Built-in Data Contributor" on it, or ${NAME_ANOTHER}.`,
  ],
};

/** Replaces an error's hint with one that names settings and verbs. The rooms that throw it know neither. */
export async function withSettingsHint(error: unknown, workspace: Pick<Workspace, 'pipeline'>): Promise<unknown> {
  const hints = error instanceof UsageError ? HINTS[error.code] : undefined;
  if (!hints || !(error instanceof UsageError)) return error;
  const [withPipeline, without] = hints;
  const hint = (await hasPipeline(workspace)) ? withPipeline : without;
  return hint === undefined
    ? error
    : UsageError.from({ code: error.code, message: error.message, hint }, { cause: error.cause });
}

async function hasPipeline(workspace: Pick<Workspace, 'pipeline'>): Promise<boolean> {
  try {
    await workspace.pipeline();
    return true;
  } catch {
    return false;
  }
}
