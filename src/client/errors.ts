import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const CLIENT_ERRORS = {
  'tenant-crossed': {
    meaning: 'A request for one tenant was answered with a document of another tenant, which was not passed on.',
    hint: 'Report it with the version of `@azure/cosmos` and the query.',
  },
  'tenant-field-wrong': {
    meaning: 'The tenant field is not the first level of the container’s partition key.',
    hint: 'Read another container, or one whose partition key begins with the tenant field.',
    usage: true,
  },
  'tenant-invalid': {
    meaning: 'The tenant is not a text of 1 to 2,048 bytes and not a finite number.',
    hint: 'Pass the value that the tenant’s documents have in the first level of the partition key.',
    usage: true,
  },
  'tenant-key-wrong': {
    meaning: 'A read or a query names too few or too many levels of the partition key.',
    hint: 'Pass the levels after the tenant, in the order of the partition key.',
    usage: true,
  },
  'tenant-missing': {
    meaning: 'A query or a feed of a container with tenants would read all of them.',
    hint: 'Read with `forTenant`, or pass the tenant as `partitionKey`. If all tenants are wanted, pass `acrossTenants()`.',
    usage: true,
  },
  'tenant-option-refused': {
    meaning: 'An option of a query for one tenant could make it read other tenants, or is unknown.',
    hint: 'Leave the option out. `forTenant` sets the partition key itself.',
    usage: true,
  },
  'tenant-page-unsupported': {
    meaning: 'The client has no continuation for this query over several physical partitions.',
    hint: 'Name the other levels of the key in `within`, or read the query to its end by `for await` or `all()`.',
    usage: true,
  },
  'tenant-query-interrupted': {
    meaning:
      'A request failed in the middle of a query that can’t be resumed, because the client sorts or combines it.',
    hint: 'Read the query again from its beginning, or name the whole key in `within`.',
    retryable: true,
  },
  'tenant-query-lost': {
    meaning: 'A physical partition was split, and the client asks again and again for the partition that is gone.',
    hint: 'Repeat the query with a new `CosmosClient`: this one keeps its old list of partitions.',
    retryable: true,
  },
  'tenant-query-unreadable': {
    meaning: 'The tenant’s condition can’t be added to the query, because its text has a form that is not understood.',
    hint: 'Write one `SELECT` whose `FROM` begins with the whole document, such as `FROM c`, and read its lists by `JOIN`.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const clientError = errorsOf(CLIENT_ERRORS);
