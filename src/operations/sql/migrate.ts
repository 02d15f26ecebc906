import type { TableLayout } from '../../definition/tables/layout.ts';
import type { Database } from '../../postgres/database.ts';
import { failure } from '../../postgres/failure.ts';
import { ownLock } from '../../sinks/tables/contents.ts';
import { planMigration } from '../../sinks/tables/migration.ts';

/** An index over many rows takes its time. */
const WITHIN_MS = 30 * 60_000;

/**
 * Creates the tables of a pipeline, or adds what is new, in one transaction. Two that run at once wait for each other.
 * @throws MillraceError `tables-differ`, `postgres-denied`, `postgres-unreachable`
 */
export async function migrateTables(
  layouts: readonly TableLayout[],
  database: Database,
  signal: AbortSignal,
  progress: (say: string) => void = () => undefined,
): Promise<string[]> {
  const locks = [...new Set(layouts.map(ownLock))].toSorted();
  if (locks.length === 0) return [];
  try {
    return await database.transaction(
      async (session) => {
        const done: string[] = [];
        for (const step of await planMigration(session, layouts)) {
          progress(step.say);
          await step.apply(session);
          done.push(step.say);
        }
        return done;
      },
      { signal, first: locks.join('; '), withinMs: WITHIN_MS },
    );
  } catch (error) {
    throw failure(error, 'The tables could not be created');
  }
}
