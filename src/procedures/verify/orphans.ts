// Rows whose other document is missing. Cosmos DB allows them, so nothing prevents them; a report names them.
import { same } from '../../pipeline/declaration.ts';
import type { SourceRef } from '../../pipeline/specs.ts';
import type { TableLayout } from '../../pipeline/tables/layout.ts';
import type { Database, Session } from '../../postgres/database.ts';
import { failure } from '../../postgres/failure.ts';
import { layoutsOf } from '../../runtime/tables.ts';
import { plural } from '../table.ts';

export interface Orphans {
  readonly table: string;
  readonly reference: string;
  readonly to: string;
  readonly count: number;
  /** The keys of the first ten. */
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

const SHOWN = 10;

/**
 * Of the tables of a pipeline, or of one projection: the references with rows whose other document is missing. `database` is
 * asked for only where there is a reference: a pipeline without tables has none.
 */
export async function readOrphans(
  { pipeline, model }: Parameters<typeof layoutsOf>[0],
  database: () => Database,
  { only, signal }: { readonly only?: string | undefined; readonly signal: AbortSignal },
): Promise<Orphans[]> {
  const tables = pipeline.effects.filter((spec) => spec.kind === 'table');
  const froms = new Map(tables.map(({ name, from }) => [name, from] as const));
  const found: Orphans[] = [];
  for (const read of orphansOf(layoutsOf({ pipeline, model }), froms, only?.split('@')[0]))
    found.push(
      await database()
        .transaction(read, { signal })
        .catch((error: unknown) => {
          throw failure(error, 'The tables could not be read');
        }),
    );
  return found.filter(({ count }) => count > 0);
}

export const sayOrphans = (found: readonly Orphans[] = []): string[] =>
  found.map(
    ({ table, to, count, rows: [first] }) =>
      `  orphans: ${plural(count, 'row')} of ${table} ${count === 1 ? 'names' : 'name'} a document that has no row in ${to}${first ? `, such as ${JSON.stringify(first)}` : ''}`,
  );

/** One question for each reference, over the views that readers have. `froms`: what each projection reads. */
function orphansOf(
  layouts: readonly TableLayout[],
  froms: ReadonlyMap<string, SourceRef>,
  only: string | undefined,
): ((session: Session) => Promise<Orphans>)[] {
  const shown = layouts.filter(
    ({ projection, version }) => !layouts.some((other) => other.projection === projection && other.version < version),
  );
  const asked = shown.filter(({ projection }) => only === undefined || projection === only);
  return asked.flatMap((layout) =>
    layout.references.flatMap((reference) => {
      const to = shown.find(({ projection }) => {
        const from = froms.get(projection);
        return from !== undefined && same(from, reference.of);
      });
      return to ? [ask(layout, reference, to)] : [];
    }),
  );
}

function ask(layout: TableLayout, { name, on }: TableLayout['references'][number], to: TableLayout) {
  const columns = new Map([
    ...to.columns.flatMap(({ field, name: column }) => (field === undefined ? [] : [[field, column] as const])),
    ...to.identity.map(({ path, name: column }) => [path.slice(1), column] as const),
  ]);
  const pairs = Object.entries(on).map(([own, theirs]) => [columns.get(theirs) ?? theirs, own] as const);
  // With the tenant in it the question stays on one node for each tenant.
  const byTenant =
    layout.tenant && to.tenant && !pairs.some(([theirs]) => theirs === to.tenant?.name)
      ? [[to.tenant.name, layout.tenant.name] as const]
      : [];
  const joined = [...byTenant, ...pairs].map(([theirs, own]) => `o.${theirs} = t.${own}`).join(' AND ');
  const keys = [...layout.identity.map((column) => column.name), ...pairs.map(([, own]) => own)];
  const named = pairs.map(([, own]) => `t.${own} IS NOT NULL`).join(' AND ');
  const from = `FROM ${layout.name} t WHERE ${named} AND NOT EXISTS (SELECT 1 FROM ${to.name} o WHERE ${joined})`;
  return async (session: Session): Promise<Orphans> => {
    const { rows: counted } = await session.query(`SELECT count(*) AS orphans ${from}`);
    const { rows } = await session.query(
      `SELECT ${[...new Set(keys)].map((key) => `t.${key}`).join(', ')} ${from} LIMIT ${SHOWN}`,
    );
    return { table: layout.name, reference: name, to: to.name, count: Number(counted[0]?.['orphans']), rows };
  };
}
