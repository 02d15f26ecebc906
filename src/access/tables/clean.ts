// Which contents nothing reads or writes any more, and their removal.
import { SCHEMA } from '../../pipeline/tables/ddl.ts';
import type { TableLayout } from '../../pipeline/tables/layout.ts';
import type { Session } from '../../postgres/database.ts';
import { messageOf } from '../../base/errors.ts';
import { sinksError } from '../errors.ts';
import { dropKeysTo } from './foreign-keys.ts';
import { type ListedContent, listedContents, readersOf } from './contents.ts';

/**
 * Contents that another one replaced and that aren't kept, and those of versions below all declared ones. A content that
 * readers have stays, and so does one of a higher version: a newer pipeline may fill it.
 */
export async function unusedContents(session: Session, layouts: readonly TableLayout[]): Promise<ListedContent[]> {
  const unused: ListedContent[] = [];
  for (const [projection, contents] of Map.groupBy(await listedContents(session), (one) => one.projection)) {
    const declared = layouts.filter((layout) => layout.projection === projection).map(({ version }) => version);
    // `undeclaredContents`: it may be another pipeline's.
    if (declared.length === 0) continue;
    const readers = await readersOf(session, { projection });
    const lowest = Math.min(...declared);
    unused.push(
      ...contents.filter(
        ({ version, content, state, kept }) =>
          ((state === 'retired' && !kept) || version < lowest) &&
          !(readers?.version === version && readers.content === content),
      ),
    );
  }
  return unused;
}

/**
 * Contents of projections that the pipeline doesn't declare. Nothing in the database tells whether another pipeline
 * declares them.
 */
export async function undeclaredContents(session: Session, layouts: readonly TableLayout[]): Promise<ListedContent[]> {
  const declared = new Set(layouts.map(({ projection }) => projection));
  return (await listedContents(session)).filter(({ projection }) => !declared.has(projection));
}

/**
 * Drops the tables of a content that Millrace listed as its own when it made them, and no other ones.
 * @throws MillraceError `tables-view-used`
 */
export async function removeUnused(
  session: Session,
  { projection, version, content, made }: ListedContent,
): Promise<void> {
  for (const { name } of made.tables) {
    await dropKeysTo(session, name);
    await dropped(() => session.query(`DROP TABLE IF EXISTS ${name}`));
  }
  await session.query(`DELETE FROM ${SCHEMA}.contents WHERE name = $1 AND version = $2::integer AND content = $3`, [
    projection,
    version,
    content,
  ]);
}

/**
 * Drops a content of a projection that is no longer declared, with the views that showed it to readers.
 * @throws MillraceError `tables-view-used`
 */
export async function removeUndeclared(session: Session, listed: ListedContent): Promise<void> {
  const { projection, content, made } = listed;
  for (const { name } of made.tables) {
    const view = name.slice(SCHEMA.length + 1, -(content.length + 1));
    if (await reads(session, view, name)) await dropped(() => session.query(`DROP VIEW ${view}`));
  }
  await removeUnused(session, listed);
  await session.query(
    `DELETE FROM ${SCHEMA}.readers WHERE name = $1 AND NOT EXISTS (SELECT 1 FROM ${SCHEMA}.contents WHERE name = $1)`,
    [projection],
  );
}

/** Another projection may have the view's name by now. */
async function reads(session: Session, view: string, table: string): Promise<boolean> {
  const { rows } = await session.query(
    `SELECT 1 FROM pg_rewrite r JOIN pg_depend d ON d.objid = r.oid AND d.classid = 'pg_rewrite'::regclass
WHERE r.ev_class = to_regclass($1) AND d.refobjid = to_regclass($2)`,
    [view, table],
  );
  return rows.length > 0;
}

async function dropped(drop: () => Promise<unknown>): Promise<void> {
  try {
    await drop();
  } catch (error) {
    // 2BP01: dependent objects still exist.
    if (!(error instanceof Error && 'code' in error && error.code === '2BP01')) throw error;
    const detail = 'detail' in error && typeof error.detail === 'string' ? `: ${error.detail}` : '';
    throw sinksError('tables-view-used', `${messageOf(error)}${detail}`, {
      hint: 'Drop what reads the table, or let it read the view of Millrace. Then run the command again.',
    });
  }
}
