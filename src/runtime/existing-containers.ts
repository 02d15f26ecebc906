import type { ContainerDefinition, Database, Resource } from '@azure/cosmos';
import { failureOf } from '../cosmos/failure.ts';
import { withRetry } from '../cosmos/retry.ts';

/** The containers of a database by name. They have no throughput, because the app's role may not read it. */
export type ExistingContainers = ReadonlyMap<string, ContainerDefinition & Resource>;

/** All containers of a database, in one request. Empty if there is no such database. */
export async function existingContainers(database: Database): Promise<ExistingContainers> {
  const list = async (): Promise<(ContainerDefinition & Resource)[]> =>
    (await database.containers.readAll().fetchAll()).resources;
  try {
    const resources = await withRetry(list, { reads: true });
    return new Map(resources.map((resource) => [resource.id, resource]));
  } catch (error) {
    if (failureOf(error).kind === 'not-found') return new Map();
    throw error;
  }
}
