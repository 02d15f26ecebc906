import { z } from 'zod';
import { optional } from '../flags.ts';
import type { Content } from '../../pipeline/tables/ddl.ts';
import type { TableLayout } from '../../pipeline/tables/layout.ts';
import type { Database, Session } from '../../postgres/database.ts';
import { failure } from '../../postgres/failure.ts';
import { layoutsOf } from '../../runtime/tables.ts';
import { removeUndeclared, removeUnused, undeclaredContents, unusedContents } from '../../access/tables/clean.ts';
import { type ListedContent, listedContents, sharedLock } from '../../access/tables/contents.ts';
import { countOld, prune } from '../../access/tables/guards.ts';
import { suggestion } from '../../base/near.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { sqlWhileLocked } from '../../procedures/sql/while-locked.ts';

export const sqlClean = defineOperation({
  name: 'sql clean',
  summary: 'Drop tables that nothing reads or writes, and forget documents that were deleted long ago',
  examples: [
    'millrace sql clean --dry-run',
    'millrace sql clean --yes',
    'millrace sql clean --undeclared old_orders --yes',
  ],
  shards: 'itself',
  effect: 'destroys',
  input: z.object({
    undeclared: optional('also drop the tables and views of this projection, which the pipeline doesn’t declare'),
  }),
  plan: async ({ undeclared }, { workspace, signal }) => {
    const layouts = layoutsOf(await workspace.pipeline());
    const { unused, old, others } = await workspace
      .tables()
      .transaction(
        async (session) => ({
          unused: await unusedContents(session, layouts),
          old: await oldGuards(session, layouts),
          others: await undeclaredContents(session, layouts),
        }),
        { signal },
      )
      .catch((error: unknown) => {
        throw failure(error, 'The tables could not be read');
      });
    const named = namedBy(undeclared, others);
    const left = others.filter((one) => !named.includes(one));
    return {
      steps: [
        ...[...unused, ...named].map((one) => `drop ${said(one)}`),
        ...(old > 0 ? [`remove ${guards(old)}`] : []),
        ...keptFor(left).map((one) => `keep ${one}`),
      ],
      ru: 0,
    };
  },
  run: async ({ undeclared }, context) =>
    audited(context, 'sql clean', { ...(undeclared !== undefined && { undeclared }) }, async () => {
      const { workspace, signal } = context;
      const layouts = layoutsOf(await workspace.pipeline());
      const { dropped, left } = await cleanTables(layouts, workspace.tables(), signal, undeclared);
      return { dropped, left, guards: await sweepGuards(layouts, workspace.tables(), signal) };
    }),
  format: ({ dropped, left, guards: swept }) =>
    [
      dropped.length === 0
        ? left.length === 0
          ? 'Every table is read or written.'
          : 'Every table of this pipeline is read or written.'
        : `Dropped ${plural(dropped.length, 'content')}:\n${dropped.map((one) => `  ${one}`).join('\n')}`,
      ...(swept > 0 ? [`Removed ${guards(swept)}.`] : []),
      ...left.map((one) => `Kept ${one}.`),
    ].join('\n'),
});

const guards = (count: number): string => `${plural(count, 'guard')} of documents that were deleted long ago`;

/**
 * Removes guards that no late writer can need (TAB-G3), also of tenants that delete nothing any more. Writers go on.
 * @throws MillraceError `denied`, `unavailable`
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

export interface CleanedTables {
  readonly dropped: readonly string[];
  /** Tables of projections that the pipeline doesn't declare. */
  readonly left: readonly string[];
}

/**
 * Drops what nothing uses, and what a projection has that is named as undeclared, in one transaction that waits for writers.
 * @throws UsageError `not-found`; MillraceError `tables-view-used`, `denied`, `unavailable`
 */
export async function cleanTables(
  layouts: readonly TableLayout[],
  database: Database,
  signal: AbortSignal,
  undeclared?: string,
): Promise<CleanedTables> {
  const locked = [...layouts, ...(undeclared === undefined ? [] : [{ projection: undeclared }])];
  return sqlWhileLocked(
    { layouts: locked, database, signal, failed: 'The tables could not be dropped' },
    async (session) => {
      const unused = await unusedContents(session, layouts);
      const others = await undeclaredContents(session, layouts);
      const named = namedBy(undeclared, others);
      for (const one of unused) await removeUnused(session, one);
      for (const one of named) await removeUndeclared(session, one);
      return { dropped: [...unused, ...named].map(said), left: keptFor(others.filter((one) => !named.includes(one))) };
    },
  );
}

/** @throws UsageError `not-found` */
function namedBy(undeclared: string | undefined, others: readonly ListedContent[]): ListedContent[] {
  if (undeclared === undefined) return [];
  const named = others.filter(({ projection }) => projection === undeclared);
  if (named.length > 0) return named;
  const known = [...new Set(others.map(({ projection }) => projection))];
  throw sharedError(
    'not-found',
    `The database has no tables of an undeclared projection ${undeclared}${suggestion(undeclared, known)}`,
    { hint: 'Run `millrace sql clean --dry-run`: it names what the pipeline doesn’t declare.' },
  );
}

/** Why tables stay: they may be another pipeline's. */
const keptFor = (others: readonly ListedContent[]): string[] =>
  others.map(
    (one) =>
      `${tablesOf(one)}, which this pipeline doesn’t declare. If no other one does, drop them with --undeclared ${one.projection}`,
  );

const said = (one: ListedContent): string =>
  `${tablesOf(one)} (${one.state === 'retired' ? 'replaced' : 'no longer declared'})`;

const tablesOf = ({ projection, version, made }: ListedContent): string =>
  `${made.tables.map(({ name }) => name).join(', ')} of ${projection}@${version}`;
