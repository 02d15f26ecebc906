import type { Container, Database } from '@azure/cosmos';
import { isDatabaseMissing } from '../../cosmos/container-missing.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { LOCAL_CONTAINER, MAP_CONTAINER } from './documents.ts';

/** Of documents that only administrators write. */
const FOR_ADMINISTRATORS = `Change maps with the identity of an administrator: "Cosmos DB Built-in Data Contributor" on ${MAP_CONTAINER}, and on ${LOCAL_CONTAINER} of each shard. An identity that routes needs no more than "Cosmos DB Built-in Data Reader" there.`;

const LEAST = { read: 'Reader', write: 'Contributor' } as const;

/** For `catch`: `denied` for the service's 401 and 403, with the least role that does it. */
export const throwDenied =
  ({ id, database }: Container, doing: keyof typeof LEAST = 'read') =>
  (error: unknown): never => {
    const { kind, message } = failureOf(error);
    if (kind !== 'denied') throw error;
    throw sharedError('denied', `This identity may not ${doing} ${id} in database ${database.id}: ${message}`, {
      cause: error,
      hint:
        doing === 'write' && (id === MAP_CONTAINER || id === LOCAL_CONTAINER)
          ? FOR_ADMINISTRATORS
          : `Give the identity the role "Cosmos DB Built-in Data ${LEAST[doing]}" on the container ${id}, and on no other for this.`,
    });
  };

/** The error of a database without a store of shard maps, or of none. */
export async function noStore(
  database: Database,
  hint = 'Check the name of the database, or use `ShardMapManager.create`.',
): Promise<Error> {
  const what = (await isDatabaseMissing(database))
    ? `There is no database ${database.id}`
    : `Database ${database.id} has no store of shard maps`;
  return sharedError('not-found', what, { hint });
}
