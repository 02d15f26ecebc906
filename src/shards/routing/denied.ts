import type { Container } from '@azure/cosmos';
import { failureOf } from '../../cosmos/failure.ts';
import { sharedError } from '../../base/shared-errors.ts';

/** For `catch`: `denied` for the service's 401 and 403. */
export const throwDenied =
  ({ id, database }: Container) =>
  (error: unknown): never => {
    const { kind, message } = failureOf(error);
    if (kind !== 'denied') throw error;
    throw sharedError('denied', `The router may not read ${id} in database ${database.id}: ${message}`, {
      cause: error,
      hint: 'Give the identity the role "Cosmos DB Built-in Data Reader" on the container.',
    });
  };
