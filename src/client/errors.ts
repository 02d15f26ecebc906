import { type ErrorCatalogue, errorsOf, usage } from '../base/error-catalogue.ts';

export const CLIENT_ERRORS = {
  'other-tenant-answered': {
    meaning: 'A request for one tenant was answered with a document of another tenant, which was not passed on.',
    hint: 'Report it with the version of `@azure/cosmos` and the query.',
  },
  'tenant-field-wrong': usage(
    'The tenant field is not the first level of the container’s partition key.',
    'Read another container, or one whose partition key begins with the tenant field.',
  ),
  'all-tenants': usage(
    'A query, a feed or a SQL statement is not confined to one tenant.',
    'Read with `forTenant`, or pass the tenant as `partitionKey`. If all tenants are wanted, pass `acrossTenants()`.',
  ),
} as const satisfies ErrorCatalogue;

export const clientError = errorsOf(CLIENT_ERRORS);
