import { z } from 'zod';
import { flag, required } from '../flags.ts';
import { audited } from '../../procedures/journal/runs.ts';
import type { Context } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural, size, textTable as columns } from '../../procedures/table.ts';
import { type Cluster, grow, measuredGrowth } from '../../procedures/sql/grow.ts';
import { type Growth, growthOf } from '../../procedures/sql/growth.ts';
import { pipelineIfAny } from '../../procedures/pipeline-if-any.ts';

export const sqlRebalance = defineOperation({
  name: 'sql rebalance',
  summary:
    'Print, or run, the statements that isolate large tenants and rebalance the nodes of Citus, from measured sizes',
  examples: [
    'millrace sql rebalance --table orders --tenant store_id',
    'millrace sql rebalance --table orders --tenant store_id --isolate 0.5',
    'millrace sql rebalance --table millrace.orders_v1 --tenant store_id --yes --env production',
  ],
  effect: 'changes',
  input: z.object({
    table: required('the largest distributed table; those that are colocated with it go along'),
    tenant: required('the tenant column'),
    isolate: z
      .number()
      .positive()
      .max(1)
      .default(0.2)
      .describe('share of an average node from which a tenant gets a shard of its own'),
    threshold: z.number().nonnegative().default(0.1).describe('how far a node may be above the average'),
    yes: flag('run the statements. It leaves an audit record; without a pipeline there is no place for one'),
  }),
  run: async ({ table, tenant, isolate, threshold, yes }, context) => {
    const { workspace, signal, screen } = context;
    const cluster: Cluster = { database: workspace.tables(), table, tenant, signal };
    const needed = async (): Promise<Growth & { readonly done?: readonly string[] }> =>
      growthOf(await measuredGrowth(cluster), table, { isolate, threshold });
    if (!yes) return needed();
    return recorded(context, { table, tenant, isolate, threshold }, async () => {
      const growth = await needed();
      return { ...growth, done: await grow(cluster, growth, (statement) => screen.line(statement)) };
    });
  },
  format: ({ isolate, full, beyond, statements, average, done }) => {
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
