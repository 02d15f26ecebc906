// The form in which `model export` gives a model to other programs. A field is only added; a change of one is another form.
import { z } from 'zod';

const place = z.object({ file: z.string(), line: z.number().int().positive() }).describe('counts from 1');
const reference = z.object({ container: z.string(), type: z.string().optional() });

const container = z.object({
  name: z.string(),
  partitionKey: z.array(z.string()).describe('paths with their slash, one a level'),
  derived: z.boolean().describe('a projection writes it'),
  types: z.array(z.object({ name: z.string(), examples: z.array(z.record(z.string(), z.unknown())), at: place })),
  indexingPolicy: z.record(z.string(), z.unknown()).optional(),
  defaultTtl: z.number().optional().describe('seconds; -1: on, by item'),
  uniqueKeys: z.array(z.object({ paths: z.array(z.string()) })).optional(),
  throughput: z
    .object({ kind: z.enum(['autoscale', 'manual']), max: z.number() })
    .optional()
    .describe('RU/s'),
  documentBytes: z.object({ average: z.number(), max: z.number(), stated: z.boolean() }),
  at: place,
});

const pattern = z.object({
  id: z.string(),
  description: z.string(),
  type: z.enum(['read', 'write', 'mixed']).optional(),
  peak: z.number().optional().describe('requests a second'),
  average: z.number().optional().describe('requests a second'),
  at: place,
});

const access = z.object({
  patterns: z.array(z.string()).describe('ids'),
  containers: z.array(z.string()),
  operations: z.array(z.string()),
  queries: z.array(z.object({ text: z.string(), equal: z.array(z.string()), filters: z.array(z.string()) })),
  ru: z.number().optional().describe('of one execution, as stated'),
  at: place,
});

const projection = z.object({
  name: z.string(),
  kind: z.string(),
  source: reference.optional(),
  joins: z.array(reference),
  sink: reference.optional().describe('absent: it is outside of the containers'),
  keys: z.string().describe('the key mapping as written'),
  fields: z.string().describe('as written'),
  serves: z.array(z.string()).describe('ids of patterns'),
  maxLagMs: z.number().optional(),
  at: place,
});

export const exported = z.object({
  form: z.literal('millrace-model/1'),
  title: z.string(),
  containers: z.array(container),
  patterns: z.array(pattern),
  accesses: z.array(access),
  projections: z.array(projection),
});

export type Exported = z.output<typeof exported>;
