import { z } from 'zod';
import { flag } from '../flags.ts';
import { wholeDdl } from '../../pipeline/tables/whole-ddl.ts';
import { layoutsOf } from '../../runtime/tables.ts';
import { defineOperation } from '../operation.ts';

export const sqlDdl = defineOperation({
  name: 'sql ddl',
  summary: 'Print the statements that create the tables of the pipeline',
  examples: ['millrace sql ddl', 'millrace sql ddl --citus > tables.sql'],
  shards: 'itself',
  effect: 'reads',
  input: z.object({
    citus: flag(
      'for a cluster with the Citus extension: distribute tables by tenant, copy reference data to all nodes',
    ),
  }),
  run: async ({ citus }, { workspace }) => ({ statements: wholeDdl(layoutsOf(await workspace.pipeline()), { citus }) }),
  format: ({ statements }) => statements.map((statement) => `${statement};`).join('\n'),
});
