// All that a database needs for the tables of a pipeline, as statements that a person may run.
import {
  type Content,
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
  const shownOf = (wanted: string): Content | undefined =>
    shown.find(({ layout: { projection } }) => projection === wanted);
  return [
    ...commonDdl(layouts, options),
    ...contents.flatMap((of) => [...contentDdl(of, options), ...finishingDdl(of)]),
    ...contents
      .flatMap((of) =>
        constraintsOf(of, ({ projection, table }) => tableName(table, (shownOf(projection) ?? of).content)),
      )
      .map(({ sql }) => sql),
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
