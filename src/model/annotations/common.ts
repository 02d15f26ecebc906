// What all kinds of annotations share: their place, names, and words for purposes and guards.
import { z } from 'zod';

export const name = z.string().min(1);
export const names = z.array(name);
export const path = name.describe('a field by its path without a slash: `userId`, `address.city`, `lines[].sku`');
export const paths = z.array(path);

/** Where the document states it. `words` are verbatim, so that a check can see that nothing is made up. */
export const place = {
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
  existing: z
    .literal(true)
    .optional()
    .describe(
      'it is there already, and this document doesn’t design or change it: an old container, another team’s, one called out of scope',
    ),
  environment: name.optional().describe('it holds in this environment only, such as `dev`, by the text'),
};

export const annotation = <K extends string, S extends z.ZodRawShape>(kind: K, meaning: string, shape: S) =>
  z.strictObject({ kind: z.literal(kind), ...place, ...shape }).describe(meaning);

export const container = name.describe('name of the container as the document writes it, the same in all annotations');
export const type = name.describe('name of the document type, the same in all annotations');
export const PURPOSES = [
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
export const purpose = z
  .enum(PURPOSES)
  .describe(
    'what the documents are for; `reference` is small data that seldom changes, `state` what users or the business change; `job` is work to do or under way: runs, tasks, pending reviews; `result` is the outcome of a run, an analysis or a model',
  );
export const order = z.array(z.strictObject({ path, descending: z.boolean().optional() }));

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

export const guard = z
  .enum(['etag', 'patch-condition', 'create-conflict', 'batch', 'lease', 'single-writer'])
  .describe('what keeps two writers at the same time apart, if the text says so');
