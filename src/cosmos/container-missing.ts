import type { Container } from '@azure/cosmos';
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

/** The same for `catch`. */
export const throwMissing =
  (container: Container) =>
  (error: unknown): never => {
    throw orContainerMissing(error, container);
  };
