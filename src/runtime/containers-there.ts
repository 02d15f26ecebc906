import type { ContainerDefinition, Database, Resource } from '@azure/cosmos';
import { failureOf } from '../cosmos/failure.ts';
import { withRetry } from '../cosmos/retry.ts';

/** A database's containers as the service has them, by name, without throughput, which the app's role may not read. */
export type ContainersThere = ReadonlyMap<string, ContainerDefinition & Resource>;

/** All containers of a database, in one request; none where the database isn't there. */
export async function containersThere(database: Database): Promise<ContainersThere> {
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
