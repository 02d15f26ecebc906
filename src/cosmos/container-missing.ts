import type { Container } from '@azure/cosmos';
import { UsageError } from '../base/errors.ts';
import { failureOf } from './failure.ts';

/** What everybody is told of a container that isn't there. */
export const containerMissing = (
  { id, database }: Pick<Container, 'id' | 'database'>,
  cause: unknown,
  mend = 'Create what the model needs by `millrace model apply`.',
): UsageError =>
  new UsageError('container-missing', `There is no container ${id} in database ${database.id}`, { cause, mend });

/** `container-missing` where that is what the service answered; everything else is passed on. */
export const orContainerMissing = (error: unknown, container: Container, mend?: string): unknown =>
  failureOf(error).kind === 'not-found' ? containerMissing(container, error, mend) : error;

/** The same for `catch`. */
export const throwMissing =
  (container: Container) =>
  (error: unknown): never => {
    throw orContainerMissing(error, container);
  };
