import { z } from 'zod';
import { wholeDdl } from '../../pipeline/tables/whole-ddl.ts';
import { layoutsOf } from '../../runtime/tables.ts';
import { defineOperation } from '../operation.ts';

export const sqlDdl = defineOperation({
  noun: 'sql',
  verb: 'ddl',
  summary: 'Print the statements that create the tables of the pipeline',
  examples: ['millrace sql ddl', 'millrace sql ddl --citus > tables.sql'],
  shards: 'itself',
  effect: 'reads',
  input: z.object({
    citus: z
      .boolean()
      .default(false)
      .describe(
        'for a cluster with the Citus extension: distribute tables by tenant, copy reference data to all nodes',
      ),
  }),
  run: async ({ citus }, { workspace }) => ({ statements: wholeDdl(layoutsOf(await workspace.pipeline()), { citus }) }),
  format: ({ statements }) => statements.map((statement) => `${statement};`).join('\n'),
});
