// Annotations of what is done with it: accesses, flows, uniqueness, retention, derived data, figures.
import { z } from 'zod';
import { OPERATIONS, annotation, container, guard, name, names, order, path, paths, type } from './common.ts';

export const USE_KINDS = [
  annotation(
    'access',
    'a read or write that the application does: an access pattern, an endpoint, a method of a repository, a query',
    {
      name: name.describe('short: `List the bookings of a venue`'),
      operation: z
        .enum(OPERATIONS)
        .describe(
          'a read of which the text doesn’t say that it is a point read is a `query`; a change of which it doesn’t say how is an `update`',
        ),
      container: container.optional(),
      type: type.optional(),
      sql: z.string().optional().describe('the query as written'),
      equals: paths
        .default([])
        .describe(
          'the fields for which the caller gives one value: of filters, routes, arguments. The partition key’s field is among them only if the caller has its value, or computes it from values that it has',
        ),
      unknownKey: z
        .literal(true)
        .optional()
        .describe(
          'the text shows that the caller does not have the partition key value: a lookup by e-mail, an id in a route without the key, "all users"',
        ),
      ranges: paths.optional().describe('fields in comparisons other than equality, and in lists such as IN'),
      searches: paths
        .optional()
        .describe('fields in CONTAINS, LIKE, full-text or vector search, and within a function such as LOWER'),
      order: order.optional(),
      sets: paths.optional().describe('of a write: the fields that it changes'),
      returns: z
        .enum(['one', 'list', 'count'])
        .optional()
        .describe('`count`: a count, a sum or another figure over documents'),
      accepted: z
        .literal(true)
        .optional()
        .describe('the text names the cost of it (all partitions, a scan, whole documents) and accepts it'),
      aim: z
        .enum(['guard', 'show', 'work', 'maintenance'])
        .optional()
        .describe(
          '`guard`: it is asked before a write, so that something is unique or allowed; `show`: for a screen or a caller; `work`: a process takes what it has to do; `maintenance`: tests, migrations, administration',
        ),
      paged: z
        .boolean()
        .optional()
        .describe('true: it has a limit or a continuation; false: the text says that all come at once'),
      often: z
        .enum(['often', 'rarely'])
        .optional()
        .describe(
          'as the text says or shows: each login, each page, each message is `often`; an admin’s report is `rarely`',
        ),
      says: z
        .array(z.enum(['point read', 'one partition', 'all partitions', 'efficient', 'atomic', 'in order']))
        .optional()
        .describe('what the text claims of it'),
      readFirst: z
        .literal(true)
        .optional()
        .describe(
          'of a write: it writes what it has read and changed: read, append, replace; one element more in a list of the document; increment in code; check then write',
        ),
      unread: z
        .literal(true)
        .optional()
        .describe('of an upsert or replace: it writes the whole document without having read it'),
      ifAbsent: z.literal(true).optional().describe('of a write: only if there is no such document'),
      by: name.optional().describe('which program or role does it: `API`, `poller`, `admin`'),
      guard: guard.optional(),
    },
  ),
  annotation(
    'flow',
    'a use that changes several documents which belong together, or a document and something outside Cosmos DB',
    {
      name,
      steps: z
        .array(
          z.strictObject({
            operation: z.enum(OPERATIONS).optional(),
            container: container.optional(),
            type: type.optional(),
            outside: z
              .enum([
                'queue',
                'blob',
                'cache',
                'search index',
                'database',
                'mail',
                'payment',
                'other service',
                'computation',
              ])
              .optional()
              .describe(
                'of a step that is no write to Cosmos DB. `computation`: a call that changes nothing there, such as an embedding, a language model, a look-up',
              ),
          }),
        )
        .min(1),
      many: z
        .literal(true)
        .optional()
        .describe('a step touches an open number of documents: all children, all members'),
      together: z
        .enum(['batch', 'stored-procedure', 'change-feed', 'outbox', 'saga', 'idempotent-retry', 'other'])
        .optional()
        .describe('what the text says holds them together or repairs them; leave it out if it says nothing'),
      recovery: name
        .optional()
        .describe(
          'what the text says happens when it stops halfway, or when it would be too large: `rejected`, `a job repairs it`, `the user repeats it`',
        ),
      sameKey: z
        .boolean()
        .optional()
        .describe('whether the documents have the same partition key value, if the text shows it'),
    },
  ),
  annotation(
    'unique',
    'a place that says or implies that a value exists once: an e-mail, a user name, a number, one review for each user, one booking for each slot',
    {
      type,
      fields: paths.min(1),
      within: paths.optional().describe('the scope: once in each tenant is `["tenantId"]`'),
      by: z
        .enum(['id', 'unique-key', 'reservation', 'check-first', 'index', 'serialized'])
        .optional()
        .describe(
          'what the text says keeps it; `id`: the id is made of exactly these fields; `check-first`: a query, then a write; `reservation`: a document of its own for the value; `serialized`: each such write replaces one document of the partition under its ETag in the same batch. Leave it out if it says nothing',
        ),
    },
  ),
  annotation(
    'quota',
    'a place that caps a number that several requests raise: files of a user, runs at a time, requests a minute, seats',
    {
      what: name.describe('short: `files of a user`'),
      type: type.optional().describe('the type whose documents are counted'),
      max: z.number().positive().optional(),
      within: paths.optional().describe('the scope: each user is `["userId"]`'),
      by: z
        .enum(['count-first', 'counter', 'reservation', 'etag', 'batch', 'patch-condition'])
        .optional()
        .describe(
          'what the text says keeps it; `count-first`: a count, then a write; `counter`: a stored number. Leave it out if it says nothing',
        ),
    },
  ),
  annotation(
    'fallback',
    'a place that says what happens with data while Cosmos DB, or what is filled from it, can’t be reached',
    {
      keeps: z
        .enum(['memory', 'file', 'queue', 'nothing'])
        .optional()
        .describe('where what is written meanwhile stays'),
      writesBack: z.boolean().optional().describe('whether it is written to Cosmos DB later, by the text'),
    },
  ),
  annotation('retention', 'a place that says how long documents stay, or what removes them', {
    container: container.optional(),
    type: type.optional(),
    seconds: z.number().positive().optional(),
    forever: z.literal(true).optional(),
    by: z.enum(['ttl', 'job', 'archive', 'user', 'hand']).optional(),
    from: z.enum(['creation', 'last-write', 'field']).optional().describe('since when the time counts, by the text'),
  }),
  annotation('deletion', 'a place that says how documents of a type are deleted', {
    type,
    way: z.enum(['soft', 'hard']),
    field: path.optional().describe('of a soft delete: `isDeleted`, `deletedAt`, `status`'),
    also: names
      .optional()
      .describe(
        'the other types that are deleted or changed with it, by the text; an empty list: the text says that nothing else is',
      ),
    allowed: z.boolean().optional().describe('false: the text says that it isn’t deleted, or not by `by`'),
    by: name.optional().describe('who may: `admin`, `owner`'),
    restorable: z.literal(true).optional().describe('a soft-deleted document can be brought back'),
  }),
  annotation(
    'derived',
    'data that follow from other data: a copied name, a counter, an average, a view, a cache, a search index, a summary',
    {
      what: name.describe('short: `rating of a venue`'),
      form: z.enum([
        'copy',
        'counter',
        'aggregate',
        'view',
        'cache',
        'search-index',
        'embedding',
        'archive',
        'replica',
      ]),
      type: type.optional().describe('the type that has it'),
      field: path.optional(),
      of: name.optional().describe('the type that it follows from'),
      keptBy: z
        .enum(['change-feed', 'same-request', 'queue', 'schedule', 'trigger', 'stored-procedure', 'query', 'memory'])
        .optional()
        .describe(
          'what keeps it right, by the text; `query`: it is computed at each read; `memory`: a variable of a process. Leave it out if the text says nothing',
        ),
      snapshot: z.literal(true).optional().describe('the text says that it keeps the value of its time on purpose'),
      onRepeat: z
        .enum(['safe', 'recount'])
        .optional()
        .describe(
          'what the text says of retries and redelivery: markers, deterministic ids, ETag: `safe`; a repair that counts anew: `recount`',
        ),
      onDelete: z
        .enum(['removed', 'tombstone', 'ttl', 'all-versions'])
        .optional()
        .describe('what the text says happens when the source is deleted'),
    },
  ),
  annotation('tenancy', 'a place that says who may see which documents, and by what', {
    field: path.optional().describe('the field that says whose a document is'),
    from: z
      .enum(['token', 'route', 'body', 'header', 'configuration'])
      .optional()
      .describe('where the value comes from at a request'),
    checked: z
      .boolean()
      .optional()
      .describe(
        'true: the text says that the value is compared with the signed-in user; false: it shows that it isn’t',
      ),
    by: z
      .enum(['key', 'filter', 'container', 'database', 'account', 'resource-token', 'role', 'account-key'])
      .optional(),
    wildcard: z.literal(true).optional().describe('a resource token or a role names its scope with a wildcard'),
  }),
  annotation(
    'fact',
    'any other fact that the document states in two or more places, or that can be compared with one: give each place its own annotation with the same `of` and `property`, and the value as that place has it. Never even out a difference',
    {
      of: name.describe('what it is about: `Posts`, `id of Message`, `number of regions`'),
      property: name,
      value: z.union([z.string(), z.number(), z.boolean()]),
      example: z.literal(true).optional().describe('the value is one of many: it stands in a sample'),
      unit: name.optional(),
    },
  ),
  annotation('sum', 'figures that belong together: parts with their total, or factors with their product', {
    what: name,
    operation: z.enum(['sum', 'product']),
    parts: z.array(z.number()).min(2),
    total: z.number(),
    about: z.literal(true).optional().describe('the total is rounded or called approximate'),
  }),
  annotation('limit', 'a limit or a price of Azure Cosmos DB that the document states', {
    limit: z.enum([
      'item-size',
      'logical-partition-size',
      'logical-partition-ru',
      'physical-partition-size',
      'physical-partition-ru',
      'batch-operations',
      'batch-size',
      'id-length',
      'key-length',
      'unique-keys',
      'query-response-size',
      'point-read-1kb-ru',
      'minimum-autoscale-ru',
      'minimum-manual-ru',
      'containers-shared-throughput',
      'hierarchical-key-levels',
    ]),
    value: z.number().describe('in bytes, RU, RU/s, or a number'),
  }),
] as const;
