import type { Container, Database } from '@azure/cosmos';
import type { UsageError } from '../base/errors.ts';
import { failureOf } from './failure.ts';
import { cosmosError } from './errors.ts';

/** The one error for a container that doesn't exist. Where a pipeline is open, the operation adds the pipeline's hint. */
export const containerMissing = ({ id, database }: Pick<Container, 'id' | 'database'>, cause: unknown): UsageError =>
  cosmosError('container-missing', `There is no container ${id} in database ${database.id}`, {
    cause,
    hint: 'Create the container, or correct its name.',
  });

/** `container-missing` for the service's 404; any other error as it is. */
export const orContainerMissing = (error: unknown, container: Container): unknown =>
  failureOf(error).kind === 'not-found' ? containerMissing(container, error) : error;

/** Whether the service says that there is no such database. An identity that may not read it isn't told. */
export const isDatabaseMissing = (database: Database): Promise<boolean> =>
  database.read().then(
    () => false,
    (error: unknown) => failureOf(error).kind === 'not-found',
  );

/** The same, and the error names the database where that is what is missing: the service's 404 doesn't say. */
export async function missingError(container: Container, cause: unknown): Promise<UsageError> {
  const { id, database } = container;
  if (!(await isDatabaseMissing(database))) return containerMissing(container, cause);
  return cosmosError('container-missing', `There is no database ${database.id}, so it has no container ${id}`, {
    cause,
    hint: 'Create the database, or correct its name.',
  });
}

/** The same for `catch`. */
export const throwMissing =
  (container: Container) =>
  async (error: unknown): Promise<never> => {
    throw failureOf(error).kind === 'not-found' ? await missingError(container, error) : error;
  };

/** Undefined for the service's 404. */
export const ifFound = <T>(asked: Promise<T>): Promise<T | undefined> =>
  asked.catch((error: unknown) => {
    if (failureOf(error).kind !== 'not-found') throw error;
    return undefined;
  });
