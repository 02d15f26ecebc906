// Annotations of what there is: containers, types, ids, keys, indexes, sizes.
import { z } from 'zod';
import { annotation, container, guard, name, names, order, path, paths, purpose, type } from './common.ts';

export const DESIGN_KINDS = [
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
      purpose: purpose.optional(),
    },
  ),
  annotation('throughput', 'a place that states the throughput of a container, a database or the account', {
    of: z.enum(['container', 'database', 'account']),
    name: name.optional().describe('its name, if there are several'),
    mode: z
      .enum(['manual', 'autoscale', 'serverless', 'limit'])
      .optional()
      .describe('`limit`: the most that all may have together'),
    ru: z.number().positive().optional().describe('RU/s; of autoscale the maximum'),
    lowest: z.number().positive().optional().describe('of autoscale: the figure that it starts at or falls to'),
    monthly: z.number().optional().describe('the price of a month that the text names beside it'),
  }),
  annotation('setting', 'a place that states another setting of the account, a database or a container', {
    of: z.enum(['container', 'database', 'account']),
    name: name.optional().describe('its name, if there are several'),
    setting: z.enum([
      'consistency',
      'regions',
      'multi-region writes',
      'backup',
      'free tier',
      'local authentication',
      'network',
      'encryption',
      'conflict resolution',
    ]),
    value: z.union([z.string(), z.number(), z.boolean()]),
  }),
  annotation(
    'scale',
    'a place that says how much there is or will be: documents, bytes, users, requests. Also "a single user", "small at our size"',
    {
      container: container.optional(),
      type: type.optional(),
      documents: z.number().optional().describe('the largest number of documents that the text speaks of'),
      bytes: z.number().optional().describe('of one document, the largest'),
      totalBytes: z.number().optional(),
      perSecond: z.number().optional().describe('requests or documents a second, at the peak'),
      users: z.number().optional(),
      within: paths.optional().describe('the figure is for each value of these: for each user is `["userId"]`'),
      bounded: z
        .literal(true)
        .optional()
        .describe('the text takes this for the most that comes, or says that it is small or doesn’t matter'),
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
      discriminator: z
        .strictObject({ path, value: name.optional() })
        .optional()
        .describe('the field, and its value, by which its documents are told from others of the container'),
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
            random: z.literal(true).optional().describe('a value by chance: a token, a UUID'),
            format: name.optional().describe('the form of its values as written: `GUID`, `usr_{number}`, `6 digits`'),
            secret: z
              .enum(['plain', 'hash', 'encrypted', 'unsaid'])
              .optional()
              .describe('a password, key, token or one-time code, and how the text says that it is stored'),
            personal: z
              .literal(true)
              .optional()
              .describe(
                'about a person: name, e-mail, address, IP address, health, location, what they wrote in private',
              ),
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
    constant: z
      .literal(true)
      .optional()
      .describe('a fixed value: there is one such document, or one in each partition'),
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
] as const;
