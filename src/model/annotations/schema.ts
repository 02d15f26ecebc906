// What annotations of a data-model document are: one JSON file, written by a person or an assistant who reads the document.
// An annotation says what one place of the document states, and nothing else. `model check` compares them (group J).
import { z } from 'zod';

const name = z.string().min(1);
const names = z.array(name);
const path = name.describe('a field by its path without a slash: `userId`, `address.city`, `lines[].sku`');
const paths = z.array(path);

/** Where the document states it. `words` are verbatim, so that a check can see that nothing is made up. */
const place = {
  line: z.int().min(1).describe('the line where the words begin'),
  words: z
    .string()
    .min(3)
    .max(300)
    .describe(
      'the words of the document that state it, copied from this line and at most eleven more; no paraphrase. Of an example its first line or two',
    ),
  planned: z
    .literal(true)
    .optional()
    .describe('the text says that it isn’t there yet: future work, a task to do, a later phase'),
  superseded: z
    .literal(true)
    .optional()
    .describe('the document itself says that this place is out of date, or corrects it elsewhere'),
  environment: name.optional().describe('it holds in this environment only, such as `dev`, by the text'),
};

const annotation = <K extends string, S extends z.ZodRawShape>(kind: K, meaning: string, shape: S) =>
  z.strictObject({ kind: z.literal(kind), ...place, ...shape }).describe(meaning);

const container = name.describe('name of the container as the document writes it, the same in all annotations');
const type = name.describe('name of the document type, the same in all annotations');
const PURPOSES = [
  'state',
  'reference',
  'event',
  'log',
  'audit',
  'message',
  'telemetry',
  'session',
  'token',
  'cache',
  'job',
  'result',
  'view',
  'counter',
  'lease',
] as const;
const purpose = z
  .enum(PURPOSES)
  .describe(
    'what the documents are for; `reference` is small data that seldom changes, `state` what users or the business change; `job` is work to do or under way: runs, tasks, pending reviews; `result` is the outcome of a run, an analysis or a model',
  );
const order = z.array(z.strictObject({ path, descending: z.boolean().optional() }));

export const OPERATIONS = [
  'point-read',
  'query',
  'create',
  'upsert',
  'replace',
  'patch',
  'update',
  'delete',
  'batch',
  'feed',
] as const;

const guard = z
  .enum(['etag', 'patch-condition', 'create-conflict', 'batch', 'lease', 'single-writer'])
  .describe('what keeps two writers at the same time apart, if the text says so');

export const annotationSchema = z.discriminatedUnion('kind', [
  annotation(
    'container',
    'a place that states facts of a container; each place has its own, even if it says the same',
    {
      container,
      key: z
        .array(z.string().startsWith('/'))
        .min(1)
        .max(3)
        .optional()
        .describe('the partition key’s paths as written here: `["/userId"]`'),
      database: name.optional(),
      ttl: z
        .union([z.int().positive(), z.literal(['off', 'item', 'on'])])
        .optional()
        .describe(
          'default TTL in seconds; `item`: on, only documents with a `ttl` expire; `on`: it is on, without a figure; `off`: the text says that there is none',
        ),
      uniqueKeys: z.array(paths).optional().describe('each unique key with its fields'),
      throughput: z
        .strictObject({
          mode: z.enum(['manual', 'autoscale', 'serverless', 'shared']),
          ru: z.number().positive().optional().describe('RU/s; of autoscale the maximum'),
        })
        .optional(),
      purpose: purpose.optional(),
    },
  ),
  annotation(
    'type',
    'a place that declares a document type: a table of fields, a class, a list; an example document is an `example`',
    {
      type,
      container: container.optional().describe('where its documents are, if this place or its section says so'),
      purpose: purpose.optional(),
      complete: z
        .boolean()
        .optional()
        .describe('true: this place is a definition that lists all fields of the type: a table, a class, a schema'),
      guard: guard.optional().describe('what keeps writers of all its documents apart, if the text says so'),
      fields: z
        .array(
          z.strictObject({
            path,
            type: z.enum(['string', 'number', 'boolean', 'object', 'array', 'date', 'vector']).optional(),
            values: z.array(z.string()).optional().describe('the closed list of its values, spelled as here'),
            optional: z.literal(true).optional(),
            required: z.literal(true).optional().describe('the text says that it must be there'),
            max: z
              .number()
              .positive()
              .optional()
              .describe('the largest number of elements, or of characters, by the text'),
            grows: z
              .literal(true)
              .optional()
              .describe(
                'a list or text inside the document to which use adds without a stated end: messages, members, history',
              ),
            large: z
              .literal(true)
              .optional()
              .describe('tens of KB or more: raw payloads, HTML, embeddings, file contents, whole analyses'),
            refersTo: name.optional().describe('it holds the id of a document of this type'),
            copyOf: name.optional().describe('it repeats a field of another document: `user.name`'),
            computed: z
              .literal(true)
              .optional()
              .describe('it follows from other documents: a count, a total, an average, a last-activity time'),
          }),
        )
        .default([]),
    },
  ),
  annotation(
    'example',
    'a JSON example of a whole stored document; Millrace reads the JSON itself. JSON of a request or a response is no example: annotate what it shows as `type` only if it is the stored document',
    {
      type: type.optional(),
      container: container.optional(),
      to: z.int().min(1).describe('the line of its last brace; `line` is that of its first brace'),
      partial: z.literal(true).optional().describe('it leaves fields out'),
    },
  ),
  annotation('id', 'a place that says how the `id` of a type is made', {
    type,
    from: paths.optional().describe('the fields whose values it has, hashed or not'),
    random: z.literal(true).optional().describe('a UUID, ULID or other value by chance'),
    format: name.optional().describe('the template as written: `order:{orderId}`, `sha256(email)[:16]`'),
  }),
  annotation('keyValue', 'a place that says what the values of a partition key are', {
    container,
    type: type.optional(),
    format: name.optional().describe('the template or a value as written: `{tenantId}:{date}`'),
    from: paths.optional().describe('the fields that it is made of'),
    distinct: z
      .enum(['one', 'few', 'many'])
      .optional()
      .describe(
        'how many values there are by the text: `one` tenant or cluster, `few` (regions, states, types), `many` (users, orders)',
      ),
    skewed: z
      .literal(true)
      .optional()
      .describe('the text shows that some values have much more than others: big cities, large tenants'),
    byTime: z
      .literal(true)
      .optional()
      .describe('the value is the current day, hour or month, so that all writes of a time go to one value'),
    required: z.literal(false).optional().describe('some documents get this value only later, or never'),
  }),
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
      returns: z.enum(['one', 'list', 'count']).optional(),
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
            outside: name
              .optional()
              .describe(
                'of a step that is no write to Cosmos DB: `queue`, `blob`, `cache`, `search index`, `mail`, `payment`',
              ),
          }),
        )
        .min(1),
      many: z
        .literal(true)
        .optional()
        .describe('a step touches an open number of documents: all children, all members'),
      together: z
        .enum(['batch', 'stored-procedure', 'change-feed', 'outbox', 'saga', 'idempotent-retry'])
        .optional()
        .describe('what the text says holds them together or repairs them; leave it out if it says nothing'),
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
        .enum(['id', 'unique-key', 'reservation', 'check-first', 'index'])
        .optional()
        .describe(
          'what the text says keeps it; `id`: the id is made of exactly these fields; `check-first`: a query, then a write; `reservation`: a document of its own for the value. Leave it out if it says nothing',
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
    also: names.optional().describe('the other types that are deleted or changed with it, by the text'),
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
        .enum(['change-feed', 'same-request', 'queue', 'schedule', 'trigger', 'stored-procedure', 'query'])
        .optional()
        .describe(
          'what keeps it right, by the text; `query`: it is computed at each read. Leave it out if the text says nothing',
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
  annotation('index', 'a place that states an indexing policy or a part of it', {
    container: container.optional(),
    mode: name.optional().describe('as written: `consistent`, `none`, `lazy`'),
    included: names.optional().describe('paths as written'),
    excluded: names.optional().describe('paths as written'),
    whole: z.boolean().optional().describe('true: this is the whole policy as it would be sent to the service'),
    composites: z.array(order).optional(),
    vectorIndexes: names.optional().describe('paths; an empty list if the policy has an empty one'),
    vectorPolicy: names.optional().describe('paths of the vector embedding policy'),
  }),
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
    by: z.enum(['key', 'filter', 'container', 'database', 'account', 'resource-token', 'role']).optional(),
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
]);

export const annotationsSchema = z.strictObject({
  version: z.literal(1),
  document: name.describe('file name of the document'),
  annotations: z.array(annotationSchema),
});

export type RawAnnotation = z.output<typeof annotationSchema>;
export type RawAnnotations = z.output<typeof annotationsSchema>;
