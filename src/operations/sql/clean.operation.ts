import { z } from 'zod';
import type { TableLayout } from '../../definition/tables/layout.ts';
import type { Database } from '../../postgres/database.ts';
import { failure } from '../../postgres/failure.ts';
import { layoutsOf } from '../../runtime/tables.ts';
import { removeUnused, unusedContents } from '../../sinks/tables/clean.ts';
import { type ListedContent, ownLock } from '../../sinks/tables/contents.ts';
import { audited } from '../audit/record.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../table.ts';

export const sqlClean = defineOperation({
  noun: 'sql',
  verb: 'clean',
  summary: 'Drop tables that nothing reads or writes: replaced ones, and those of versions that are no longer declared',
  examples: ['millrace sql clean --dry-run', 'millrace sql clean --yes'],
  effect: 'destroys',
  input: z.object({}),
  plan: async (_, { workspace, signal }) => {
    const layouts = layoutsOf(await workspace.pipeline());
    const unused = await workspace
      .tables()
      .transaction((session) => unusedContents(session, layouts), { signal })
      .catch((error: unknown) => {
        throw failure(error, 'The tables could not be read');
      });
    return { steps: unused.map((one) => `drop ${said(one)}`), ru: 0 };
  },
  run: async (_, context) =>
    audited(context, 'sql clean', {}, async () => {
      const { workspace, signal } = context;
      return { dropped: await cleanTables(layoutsOf(await workspace.pipeline()), workspace.tables(), signal) };
    }),
  format: ({ dropped }) =>
    dropped.length === 0
      ? 'Every table is read or written.'
      : `Dropped ${plural(dropped.length, 'content')}:\n${dropped.map((one) => `  ${one}`).join('\n')}`,
});

/**
 * Drops what nothing uses, in one transaction that waits for writers. Resolves with what was dropped.
 * @throws MillraceError `tables-view-used`, `postgres-denied`, `postgres-unreachable`
 */
export async function cleanTables(
  layouts: readonly TableLayout[],
  database: Database,
  signal: AbortSignal,
): Promise<string[]> {
  const locks = [...new Set(layouts.map(ownLock))].toSorted();
  if (locks.length === 0) return [];
  try {
    return await database.transaction(
      async (session) => {
        const unused = await unusedContents(session, layouts);
        for (const one of unused) await removeUnused(session, one);
        return unused.map(said);
      },
      { signal, first: locks.join('; ') },
    );
  } catch (error) {
    throw failure(error, 'The tables could not be dropped');
  }
}

const said = ({ projection, version, state, made }: ListedContent): string =>
  `${made.tables.map(({ name }) => name).join(', ')} of ${projection}@${version} (${state === 'retired' ? 'replaced' : 'no longer declared'})`;
