import { z } from 'zod';
import { layoutsOf } from '../../runtime/tables.ts';
import { failure } from '../../postgres/failure.ts';
import { type MigrationStep, planMigration } from '../../access/tables/migration.ts';
import { audited } from '../../procedures/journal/runs.ts';
import type { Context } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { migrateTables } from '../../procedures/sql/migrate.ts';

export const sqlMigrate = defineOperation({
  name: 'sql migrate',
  summary: 'Create the tables of the pipeline in PostgreSQL, or add the columns that are new',
  examples: ['millrace sql migrate --dry-run', 'millrace sql migrate --env production'],
  shards: 'itself',
  effect: 'changes',
  input: z.object({}),
  plan: async (_, context) => ({ steps: (await planned(context)).map(({ say }) => say), ru: 0 }),
  run: async (_, context) =>
    audited(context, 'sql migrate', {}, async () => {
      const { workspace, signal, screen } = context;
      const layouts = layoutsOf(await workspace.pipeline());
      return { done: await migrateTables(layouts, workspace.tables(), signal, (say) => screen.line(`${say} …`)) };
    }),
  format: ({ done }) =>
    done.length === 0 ? 'The database already has the tables.' : `${plural(done.length, 'change')} made.`,
});

async function planned({ workspace, signal }: Context): Promise<MigrationStep[]> {
  const layouts = layoutsOf(await workspace.pipeline());
  try {
    return await workspace.tables().transaction((session) => planMigration(session, layouts), { signal });
  } catch (error) {
    throw failure(error, 'The tables could not be compared');
  }
}
