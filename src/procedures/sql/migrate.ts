import type { TableLayout } from '../../pipeline/tables/layout.ts';
import type { Database } from '../../postgres/database.ts';
import { planMigration } from '../../access/tables/migration.ts';
import { sqlWhileLocked } from './while-locked.ts';

/**
 * Creates the tables of a pipeline, or adds what is new, in one transaction. Two that run at once wait for each other.
 * @throws MillraceError `tables-differ`, `denied`, `unavailable`
 */
export async function migrateTables(
  layouts: readonly TableLayout[],
  database: Database,
  signal: AbortSignal,
  progress: (say: string) => void = () => undefined,
): Promise<string[]> {
  if (layouts.length === 0) return [];
  return sqlWhileLocked({ layouts, database, signal, failed: 'The tables could not be created' }, async (session) => {
    const done: string[] = [];
    for (const step of await planMigration(session, layouts)) {
      progress(step.say);
      await step.apply(session);
      done.push(step.say);
    }
    return done;
  });
}
