import type { TableLayout } from '../../pipeline/tables/layout.ts';
import type { Database, Session } from '../../postgres/database.ts';
import { failure } from '../../postgres/failure.ts';
import { ownLock } from '../../access/tables/contents.ts';

/** An index over many rows takes its time. */
const WITHIN_MS = 30 * 60_000;

export interface LockedTables {
  readonly layouts: readonly Pick<TableLayout, 'projection'>[];
  readonly database: Database;
  readonly signal: AbortSignal;
  /** The beginning of the message, if it fails. */
  readonly failed: string;
}

/** In one transaction that waits for all writers of these tables. Two of them wait for each other. */
export async function sqlWhileLocked<T>(
  { layouts, database, signal, failed }: LockedTables,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const locks = [...new Set(layouts.map(ownLock))].toSorted();
  try {
    return await database.transaction(work, {
      signal,
      ...(locks.length > 0 && { first: locks.join('; ') }),
      withinMs: WITHIN_MS,
    });
  } catch (error) {
    throw failure(error, failed);
  }
}
