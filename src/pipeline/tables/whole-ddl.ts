// All that a database needs for the tables of a pipeline, as statements that a person may run.
import {
  type Content,
  type DdlOptions,
  SCHEMA,
  commonDdl,
  contentDdl,
  finishingDdl,
  firstContent,
  foreignKeyDdl,
  NOT_ENFORCED_FROM,
  tableName,
  viewHead,
  viewsOf,
} from './ddl.ts';
import { literal } from './literal.ts';
import { madeOf } from './made.ts';
import { securityDdl } from './row-security.ts';
import type { TableLayout } from './table-layout.ts';

/** All statements for tables that don't exist yet, in their order: after them `sql migrate` finds nothing to do. */
export function wholeDdl(layouts: readonly TableLayout[], options: DdlOptions): string[] {
  const contents = layouts.map((layout): Content => ({ layout, content: firstContent(layout) }));
  const shown = contents.filter(
    ({ layout: { projection, version } }) =>
      !layouts.some((other) => other.projection === projection && other.version < version),
  );
  return [
    ...commonDdl(layouts, options),
    ...contents.flatMap((of) => [...contentDdl(of, options), ...finishingDdl(of)]),
    ...(options.citus ? [] : contents.flatMap((of) => keysDdl(of, shown))),
    ...shown.flatMap((of) =>
      viewsOf(of).flatMap((view) => [...securityDdl(view.table, of.layout), `CREATE ${viewHead(view)} ${view.select}`]),
    ),
    ...contents.map(
      (of) =>
        `INSERT INTO ${SCHEMA}.contents (name, version, content, state, made) VALUES (${literal(of.layout.projection)}, ${of.layout.version}, ${literal(of.content)}, 'live', ${literal(JSON.stringify(madeOf(of)))})`,
    ),
    ...shown.map(
      ({ layout, content }) =>
        `INSERT INTO ${SCHEMA}.readers (name, version, content, generation) VALUES (${literal(layout.projection)}, ${layout.version}, ${literal(content)}, 1)`,
    ),
  ];
}

/** References that an earlier server, and Citus, can't declare. */
function keysDdl(of: Content, shown: readonly Content[]): string[] {
  const { layout } = of;
  return layout.foreignKeys.flatMap((key) => {
    const to = shown.find(({ layout: other }) => other.projection === key.projection && other.version === key.version);
    if (!to) return [];
    const { sql } = foreignKeyDdl(of, key, tableName(key.table, to.content));
    return `-- PostgreSQL 18 has foreign keys that are not enforced; an earlier server gets none for the reference ${key.reference} of ${layout.name}
DO $$ BEGIN IF current_setting('server_version_num')::integer >= ${NOT_ENFORCED_FROM} THEN
  ${sql};
END IF; END $$`;
  });
}
