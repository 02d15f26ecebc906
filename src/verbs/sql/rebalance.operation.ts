import { z } from 'zod';
import { sharedError } from '../../base/shared-errors.ts';
import { operationsError } from '../../procedures/errors.ts';
import { messageOf } from '../../base/errors.ts';
import { audited } from '../../procedures/audit/record.ts';
import type { Context } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural, size, textTable as columns } from '../../procedures/table.ts';
import { type Cluster, grow, measuredGrowth } from '../../procedures/sql/grow.ts';
import { type Growth, growthOf, measuringQueries } from '../../procedures/sql/growth.ts';
import { pipelineIfAny } from '../../procedures/pipeline-if-any.ts';
import { readSql } from '../../procedures/sql/read-sql.ts';

const bytes = z.coerce.number().nonnegative();
const schema = z.object({
  tenants: z.array(z.object({ tenant: z.union([z.string(), z.number()]), bytes })),
  nodes: z.array(z.object({ node: z.string(), bytes })).min(1),
});

export const sqlRebalance = defineOperation({
  noun: 'sql',
  verb: 'rebalance',
  summary:
    'Print, or run, the statements that isolate large tenants and rebalance the nodes of Citus, from measured sizes',
  examples: [
    'millrace sql rebalance --table orders --tenant store_id',
    'millrace sql rebalance sizes.json --table orders --tenant store_id',
    'millrace sql rebalance sizes.json --table orders --tenant store_id --isolate 0.5',
    'millrace sql rebalance --table millrace.orders_v1 --tenant store_id --plan',
    'millrace sql rebalance --table millrace.orders_v1 --tenant store_id --yes --env production',
  ],
  effect: 'changes',
  argument: 'sizes',
  input: z.object({
    sizes: z
      .string()
      .optional()
      .describe(
        'file with {"tenants": [{"tenant", "bytes"}], "nodes": [{"node", "bytes"}]}; without it, print the queries that measure them, or measure the database of POSTGRES_URL',
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
    plan: z
      .boolean()
      .default(false)
      .describe('measure the database of POSTGRES_URL, and print the statements without running them'),
    yes: z
      .boolean()
      .default(false)
      .describe(
        'run the statements; without a file, measure before. It leaves an audit record; without a pipeline there is no place for one',
      ),
  }),
  run: async ({ sizes, table, tenant, isolate, threshold, plan, yes }, context) => {
    const { workspace, signal, screen } = context;
    if (plan && yes)
      throw operationsError('input-invalid', '--plan prints statements, and --yes runs them', {
        hint: 'Give one of the two flags.',
      });
    if (sizes === undefined && !plan && !yes) return { measure: measuringQueries(table, tenant) };
    const given = sizes === undefined ? undefined : parsed(await readSql(workspace.directory, sizes));
    const cluster = (): Cluster => ({ database: workspace.tables(), table, tenant, signal });
    const needed = async (): Promise<Growth & { readonly done?: readonly string[] }> =>
      growthOf(given ?? (await measuredGrowth(cluster())), table, { isolate, threshold });
    if (!yes) return needed();
    const asked = { table, tenant, isolate, threshold, ...(sizes !== undefined && { sizes }) };
    return recorded(context, asked, async () => {
      const growth = await needed();
      return { ...growth, done: await grow(cluster(), growth, (statement) => screen.line(statement)) };
    });
  },
  format: (growth) => {
    if ('measure' in growth) return growth.measure.join('\n');
    const { isolate, full, beyond, statements, average, done } = growth;
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
      done
        ? `${plural(done.length, 'statement')} run. A rebalance goes on in the cluster: SELECT * FROM citus_rebalance_status();`
        : `${plural(statements.length, 'statement')} to run on the coordinator, one at a time, or with --yes:`,
      ...(done ?? statements),
    ].join('\n');
  },
});

/** A cluster may have other tables than those of a pipeline. Without one there is no state container to record it in. */
const recorded = async <T>(context: Context, asked: Record<string, unknown>, work: () => Promise<T>): Promise<T> =>
  (await pipelineIfAny(context.workspace)) ? audited(context, 'sql rebalance', asked, work) : work();

function parsed({ file, text }: { readonly file: string; readonly text: string }): z.output<typeof schema> {
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    const why = cause instanceof z.ZodError ? z.prettifyError(cause).split('\n').join(' ') : messageOf(cause);
    throw sharedError('unreadable', `${file} has no sizes: ${why}`, {
      cause,
      hint: 'Run `millrace sql rebalance` without the file: it prints the queries whose rows belong into it.',
    });
  }
}
