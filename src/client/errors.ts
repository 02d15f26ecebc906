import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const CLIENT_ERRORS = {
  'other-tenant-answered': {
    meaning: 'A request for one tenant was answered with a document of another tenant, which was not passed on.',
    hint: 'Report it with the version of `@azure/cosmos` and the query.',
  },
  'query-of-all-tenants': {
    meaning: 'A query or a feed of a container with tenants would read all of them.',
    hint: 'Read with `forTenant`, or pass the tenant as `partitionKey`. If all tenants are wanted, pass `acrossTenants()`.',
    usage: true,
  },
  'sql-of-all-tenants': {
    meaning: 'A SQL statement is not confined to one tenant, or names another one than the current.',
    hint: 'Compare the tenant column with the tenant, or use `sqlForTenant`. If all tenants are wanted, write `-- all tenants: REASON` into the statement.',
    usage: true,
  },
  'sql-tenant-refused': {
    meaning: 'The tenant’s condition can’t be added to a SQL statement with certainty.',
    hint: 'Write the condition into the statement, and check it with `millrace sql check`.',
    usage: true,
  },
  'tenant-field-wrong': {
    meaning: 'The tenant field is not the first level of the container’s partition key.',
    hint: 'Read another container, or one whose partition key begins with the tenant field.',
    usage: true,
  },
  'tenant-key-wrong': {
    meaning: 'A read or a query names too few or too many levels of the partition key.',
    hint: 'Pass the levels after the tenant, in the order of the partition key.',
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
  'tenant-query-unreadable': {
    meaning: 'The tenant’s condition can’t be added to the query, because its text has a form that is not understood.',
    hint: 'Write one `SELECT` whose `FROM` begins with the whole document, such as `FROM c`, and read its lists by `JOIN`.',
    usage: true,
  },
  'tenant-secret-short': {
    meaning: 'The secret that seals the continuations of `forTenant` can be found by trying.',
    hint: 'Pass 32 random bytes or more as `sealWith`, such as the output of `openssl rand -base64 32`.',
    usage: true,
  },
  'tenant-value-wrong': {
    meaning: 'The tenant is not a text of 1 to 2,048 bytes and not a finite number.',
    hint: 'Pass the value that the tenant’s documents have in the first level of the partition key.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const clientError = errorsOf(CLIENT_ERRORS);
