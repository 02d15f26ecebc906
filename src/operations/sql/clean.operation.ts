import { z } from 'zod';
import type { Content } from '../../definition/tables/ddl.ts';
import type { TableLayout } from '../../definition/tables/layout.ts';
import type { Database, Session } from '../../postgres/database.ts';
import { failure } from '../../postgres/failure.ts';
import { layoutsOf } from '../../runtime/tables.ts';
import { removeUnused, unusedContents } from '../../sinks/tables/clean.ts';
import { type ListedContent, listedContents, sharedLock } from '../../sinks/tables/contents.ts';
import { countOld, prune } from '../../sinks/tables/guards.ts';
import { audited } from '../audit/record.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../table.ts';
import { whileLocked } from './while-locked.ts';

export const sqlClean = defineOperation({
  noun: 'sql',
  verb: 'clean',
  summary: 'Drop tables that nothing reads or writes, and forget documents that were deleted long ago',
  examples: ['millrace sql clean --dry-run', 'millrace sql clean --yes'],
  shards: 'itself',
  effect: 'destroys',
  input: z.object({}),
  plan: async (_, { workspace, signal }) => {
    const layouts = layoutsOf(await workspace.pipeline());
    const { unused, old } = await workspace
      .tables()
      .transaction(
        async (session) => ({ unused: await unusedContents(session, layouts), old: await oldGuards(session, layouts) }),
        { signal },
      )
      .catch((error: unknown) => {
        throw failure(error, 'The tables could not be read');
      });
    return {
      steps: [...unused.map((one) => `drop ${said(one)}`), ...(old > 0 ? [`remove ${guards(old)}`] : [])],
      ru: 0,
    };
  },
  run: async (_, context) =>
    audited(context, 'sql clean', {}, async () => {
      const { workspace, signal } = context;
      const layouts = layoutsOf(await workspace.pipeline());
      const dropped = await cleanTables(layouts, workspace.tables(), signal);
      return { dropped, guards: await sweepGuards(layouts, workspace.tables(), signal) };
    }),
  format: ({ dropped, guards: swept }) =>
    [
      dropped.length === 0
        ? 'Every table is read or written.'
        : `Dropped ${plural(dropped.length, 'content')}:\n${dropped.map((one) => `  ${one}`).join('\n')}`,
      ...(swept > 0 ? [`Removed ${guards(swept)}.`] : []),
    ].join('\n'),
});

const guards = (count: number): string => `${plural(count, 'guard')} of documents that were deleted long ago`;

/**
 * Removes guards that no late writer can need (TAB-G3), also of tenants that delete nothing any more. Writers go on.
 * @throws MillraceError `postgres-denied`, `postgres-unreachable`
 */
export async function sweepGuards(
  layouts: readonly TableLayout[],
  database: Database,
  signal: AbortSignal,
  now = new Date(),
): Promise<number> {
  let removed = 0;
  for (const layout of layouts)
    removed += await database
      .transaction(
        async (session) => {
          let count = 0;
          for (const of of await guarded(session, [layout])) count += await prune(session, of, now);
          return count;
        },
        { signal, first: sharedLock(layout) },
      )
      .catch((error: unknown) => {
        throw failure(error, `The guards of ${layout.projection} could not be removed`);
      });
  return removed;
}

async function oldGuards(session: Session, layouts: readonly TableLayout[]): Promise<number> {
  let count = 0;
  for (const of of await guarded(session, layouts)) count += await countOld(session, of, new Date());
  return count;
}

/** What hosts write of these tables. Those that are yet to be created have none. */
async function guarded(session: Session, layouts: readonly TableLayout[]): Promise<Content[]> {
  const listed = await listedContents(session);
  return layouts.flatMap((layout) =>
    listed
      .filter(({ projection, version }) => projection === layout.projection && version === layout.version)
      .filter(({ state, kept }) => state === 'live' || kept)
      .map(({ content }) => ({ layout, content })),
  );
}

/**
 * Drops what nothing uses, in one transaction that waits for writers. Resolves with what was dropped.
 * @throws MillraceError `tables-view-used`, `postgres-denied`, `postgres-unreachable`
 */
export async function cleanTables(
  layouts: readonly TableLayout[],
  database: Database,
  signal: AbortSignal,
): Promise<string[]> {
  return whileLocked({ layouts, database, signal, failed: 'The tables could not be dropped' }, async (session) => {
    const unused = await unusedContents(session, layouts);
    for (const one of unused) await removeUnused(session, one);
    return unused.map(said);
  });
}

const said = ({ projection, version, state, made }: ListedContent): string =>
  `${made.tables.map(({ name }) => name).join(', ')} of ${projection}@${version} (${state === 'retired' ? 'replaced' : 'no longer declared'})`;
