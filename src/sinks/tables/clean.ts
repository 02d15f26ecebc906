// Which contents nothing reads or writes any more, and their removal.
import { SCHEMA } from '../../definition/tables/ddl.ts';
import type { TableLayout } from '../../definition/tables/layout.ts';
import type { Session } from '../../postgres/database.ts';
import { messageOf } from '../../base/errors.ts';
import { sinksError } from '../errors.ts';
import { type ListedContent, listedContents, readersOf } from './contents.ts';

/**
 * Contents that another one replaced and that aren't kept, and those of versions below all declared ones. A content that
 * readers have stays, and so does one of a higher version: a newer pipeline may fill it.
 */
export async function unusedContents(session: Session, layouts: readonly TableLayout[]): Promise<ListedContent[]> {
  const unused: ListedContent[] = [];
  for (const [projection, contents] of Map.groupBy(await listedContents(session), (one) => one.projection)) {
    const declared = layouts.filter((layout) => layout.projection === projection).map(({ version }) => version);
    // It may be another pipeline's.
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

/** @throws MillraceError `tables-view-used` */
export async function removeUnused(
  session: Session,
  { projection, version, content, made }: ListedContent,
): Promise<void> {
  for (const { name } of made.tables)
    try {
      await session.query(`DROP TABLE IF EXISTS ${name}`);
    } catch (error) {
      // 2BP01: dependent objects still exist.
      if (!(error instanceof Error && 'code' in error && error.code === '2BP01')) throw error;
      const detail = 'detail' in error && typeof error.detail === 'string' ? `: ${error.detail}` : '';
      throw sinksError('tables-view-used', `${messageOf(error)}${detail}`, {
        hint: 'Drop what reads the table, or let it read the view of Millrace. Then run the command again.',
      });
    }
  await session.query(`DELETE FROM ${SCHEMA}.contents WHERE name = $1 AND version = $2::integer AND content = $3`, [
    projection,
    version,
    content,
  ]);
}
