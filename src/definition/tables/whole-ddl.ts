// All that a database needs for the tables of a pipeline, as statements that a person may run.
import {
  type DdlOptions,
  SCHEMA,
  commonDdl,
  constraintsOf,
  contentDdl,
  finishingDdl,
  firstContent,
  tableName,
  viewHead,
  viewsOf,
} from './ddl.ts';
import { madeOf } from './made.ts';
import { securityDdl } from './row-security.ts';
import type { TableLayout } from './table-layout.ts';

/** All statements for tables that don't exist yet, in their order: after them `sql migrate` finds nothing to do. */
export function wholeDdl(layouts: readonly TableLayout[], options: DdlOptions): string[] {
  const shown = layouts.filter(
    ({ projection, version }) => !layouts.some((other) => other.projection === projection && other.version < version),
  );
  return [
    ...commonDdl(layouts, options),
    ...layouts.flatMap((layout) => {
      const of = { layout, content: firstContent(layout) };
      return [...contentDdl(of, options), ...finishingDdl(of)];
    }),
    ...layouts
      .map((layout) => ({ layout, content: firstContent(layout) }))
      .flatMap((of) =>
        constraintsOf(of, ({ projection, table }) =>
          tableName(table, firstContent(shown.find((other) => other.projection === projection) ?? of.layout)),
        ),
      )
      .map(({ sql }) => sql),
    ...shown.flatMap((layout) =>
      viewsOf({ layout, content: firstContent(layout) }).flatMap((view) => [
        ...securityDdl(view.table, layout),
        `CREATE ${viewHead(view)} ${view.select}`,
      ]),
    ),
    ...layouts.map((layout) => {
      const of = { layout, content: firstContent(layout) };
      return `INSERT INTO ${SCHEMA}.contents (name, version, content, state, made) VALUES (${literal(layout.projection)}, ${layout.version}, '${of.content}', 'live', ${literal(JSON.stringify(madeOf(of)))})`;
    }),
    ...shown.map(
      (layout) =>
        `INSERT INTO ${SCHEMA}.readers (name, version, content, generation) VALUES (${literal(layout.projection)}, ${layout.version}, '${firstContent(layout)}', 1)`,
    ),
  ];
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
