import { z } from 'zod';
import { messageOf } from '../../base/errors.ts';
import { defineOperation } from '../operation.ts';
import { plural, size, table as columns } from '../table.ts';
import { sqlVerbsError } from './errors.ts';
import { growthOf, measuringQueries } from './growth.ts';
import { readSql } from './read-sql.ts';

const bytes = z.coerce.number().nonnegative();
const schema = z.object({
  tenants: z.array(z.object({ tenant: z.union([z.string(), z.number()]), bytes })),
  nodes: z.array(z.object({ node: z.string(), bytes })).min(1),
});

export const sqlRebalance = defineOperation({
  noun: 'sql',
  verb: 'rebalance',
  summary: 'Print the statements that isolate large tenants and rebalance the nodes of Citus, from measured sizes',
  examples: [
    'millrace sql rebalance --table orders --tenant store_id',
    'millrace sql rebalance sizes.json --table orders --tenant store_id',
    'millrace sql rebalance sizes.json --table orders --tenant store_id --isolate 0.5',
  ],
  effect: 'reads',
  argument: 'sizes',
  input: z.object({
    sizes: z
      .string()
      .optional()
      .describe(
        'file with {"tenants": [{"tenant", "bytes"}], "nodes": [{"node", "bytes"}]}; without it, print the queries that measure them',
      ),
    table: z.string().describe('the largest distributed table; those that are colocated with it go along'),
    tenant: z.string().describe('the tenant column'),
    isolate: z
      .number()
      .positive()
      .max(1)
      .default(0.2)
      .describe('share of an average node from which a tenant gets a shard of its own'),
    threshold: z.number().nonnegative().default(0.1).describe('how far a node may be above the average'),
  }),
  run: async ({ sizes, table, tenant, isolate, threshold }, { workspace: { directory } }) =>
    sizes === undefined
      ? { measure: measuringQueries(table, tenant) }
      : growthOf(parsed(await readSql(directory, sizes)), table, { isolate, threshold }),
  format: (growth) => {
    if ('measure' in growth) return growth.measure.join('\n');
    const { isolate, full, beyond, statements, average } = growth;
    if (statements.length === 0)
      return `No tenant needs a shard of its own, and the nodes are in balance (${size(average)} on average).`;
    const isolated = isolate.map((each) => [each.tenant, size(each.bytes), `${Math.round(each.share * 100)} %`]);
    return [
      ...(isolated.length > 0
        ? [
            columns(
              ['tenant', 'size', 'of a node'],
              isolated.map((row) => row.map(String)),
            ),
          ]
        : []),
      ...full.map(
        ({ node, above }) => `${node} is ${Math.round(above * 100)} % above the average of ${size(average)}.`,
      ),
      ...beyond.map((of) => `${of} is larger than an average node: larger nodes help it, and more nodes don’t.`),
      `${plural(statements.length, 'statement')} to run on the coordinator, one at a time:`,
      ...statements,
    ].join('\n');
  },
});

function parsed({ file, text }: { readonly file: string; readonly text: string }): z.output<typeof schema> {
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    const why = cause instanceof z.ZodError ? z.prettifyError(cause).split('\n').join(' ') : messageOf(cause);
    throw sqlVerbsError('sql-file-unreadable', `${file} has no sizes: ${why}`, {
      cause,
      hint: 'Run `millrace sql rebalance` without the file: it prints the queries whose rows belong into it.',
    });
  }
}
