// What is to be done so that the database has the tables that a pipeline declares: created, or extended in place.
import {
  type Content,
  SCHEMA,
  columnDdl,
  commonDdl,
  contentDdl,
  finishingDdl,
  firstContent,
  tableName,
  viewsOf,
} from '../../pipeline/tables/ddl.ts';
import type { Column, TableLayout } from '../../pipeline/tables/layout.ts';
import type { Session } from '../../postgres/database.ts';
import { sinksError } from '../errors.ts';
import { listContent, liveOf, readersOf } from './contents.ts';
import { type ShownOf, keysLacking } from './foreign-keys.ts';
import { giveToReaders, hasCitus } from './table-contents.ts';
import { letReadersIn, secure, securityLacking } from './row-security.ts';
import { switchView } from './views.ts';

export interface MigrationStep {
  readonly say: string;
  readonly apply: (session: Session) => Promise<void>;
}

/**
 * The steps, in their order. Only adds: a column of another type, or another key, needs another version of the projection.
 * @throws MillraceError `tables-differ`
 */
export async function planMigration(session: Session, layouts: readonly TableLayout[]): Promise<MigrationStep[]> {
  const citus = await hasCitus(session);
  const steps: MigrationStep[] = [];
  const contents: Content[] = [];
  const exists = (await typesOf(session, `${SCHEMA}.contents`)).size > 0;
  if (!exists)
    steps.push({
      say: `create the schema ${SCHEMA}`,
      apply: async (own) => {
        for (const statement of commonDdl(layouts, { citus })) await own.query(statement);
      },
    });
  for (const layout of layouts) {
    const live = exists ? await liveOf(session, layout) : undefined;
    const content = live ?? firstContent(layout);
    const of: Content = { layout, content };
    if (live !== undefined) {
      const added = await additions(session, of);
      steps.push(...added.map((step, at) => (at === added.length - 1 ? listing(step, of) : step)));
    } else
      steps.push({
        say: `create ${[layout, ...layout.children].map(({ name }) => tableName(name, content)).join(', ')}`,
        apply: async (own) => {
          for (const statement of [...contentDdl(of, { citus }), ...finishingDdl(of)]) await own.query(statement);
          await listContent(own, of, 'live');
        },
      });
    const first = !layouts.some((other) => other.projection === layout.projection && other.version < layout.version);
    const readers = exists ? await readersOf(session, layout) : undefined;
    if (!readers && first)
      steps.push({
        say: `create ${viewsOf(of)
          .map(({ name }) => `the view ${name}`)
          .join(', ')}`,
        apply: (own) => giveToReaders(own, of, undefined),
      });
    else if (readers?.version === layout.version && readers.content === content)
      steps.push(...(await viewSteps(session, of)));
    contents.push(of);
  }
  // Last: a foreign key leads to what readers have of another table.
  const shownOf: ShownOf = async ({ projection }) =>
    (exists ? await readersOf(session, { projection }) : undefined) ?? firstShown(layouts, projection);
  for (const of of contents) {
    const lacking = await keysLacking(session, of, shownOf);
    if (lacking.length > 0)
      steps.push({
        say: `declare the references ${lacking.map(({ key }) => key.reference).join(', ')} of ${tableName(of.layout.name, of.content)}, not enforced`,
        apply: async (own) => {
          for (const { sql } of lacking) await own.query(sql);
        },
      });
  }
  return steps;
}

/** What readers get of a projection of which they have nothing yet. */
function firstShown(layouts: readonly TableLayout[], projection: string) {
  const [first] = layouts
    .filter((layout) => layout.projection === projection)
    .toSorted((a, b) => a.version - b.version);
  return first && { version: first.version, content: firstContent(first) };
}

/** The last step: it also notes what the content has now. */
const listing = (step: MigrationStep, of: Content): MigrationStep => ({
  ...step,
  apply: async (session) => {
    await step.apply(session);
    await listContent(session, of, 'live');
  },
});

/** Columns and child tables that are new. */
async function additions(session: Session, of: Content): Promise<MigrationStep[]> {
  const { layout, content } = of;
  const steps: MigrationStep[] = [];
  const tables = [
    { name: layout.name, columns: [...layout.identity, ...layout.columns], child: undefined },
    ...layout.children.map((child) => ({ name: child.name, columns: [...layout.identity, ...child.columns], child })),
  ];
  for (const { name, columns, child } of tables) {
    const table = tableName(name, content);
    const stored = await typesOf(session, table);
    if (stored.size === 0) {
      if (!child) throw sinksError('tables-differ', `The table ${table} is missing, although Millrace created it`);
      const one: Content = { layout: { ...layout, children: [child], references: [] }, content };
      const statements = [...contentDdl(one, { citus: await hasCitus(session) }), ...finishingDdl(one)].filter(
        (text) => text.includes(`${table} `) || text.includes(`'${table}'`),
      );
      steps.push({
        say: `create ${table}; its rows come with a replay of ${layout.projection}`,
        apply: async (own) => {
          for (const statement of statements) await own.query(statement);
        },
      });
      continue;
    }
    const added = columns.filter((column) => !stored.has(column.name));
    const other = columns.find((column) => stored.has(column.name) && stored.get(column.name) !== storedType(column));
    if (other)
      throw sinksError(
        'tables-differ',
        `${table}.${other.name} is ${stored.get(other.name)}, and the pipeline declares ${other.type}`,
      );
    const key = added.find((column) => layout.identity.some(({ name: own }) => own === column.name));
    if (key) throw sinksError('tables-differ', `${table} lacks ${key.name}, which is a part of the key`);
    if (added.length > 0)
      steps.push({
        say: `add ${added.map((column) => column.name).join(', ')} to ${table}; old rows have null there until a replay of ${layout.projection}`,
        apply: async (own) => {
          for (const column of added) await own.query(`ALTER TABLE ${table} ADD COLUMN ${columnDdl(column)}`);
        },
      });
  }
  return steps;
}

async function viewSteps(session: Session, of: Content): Promise<MigrationStep[]> {
  const steps: MigrationStep[] = [];
  for (const view of viewsOf(of)) {
    const stored = [...(await typesOf(session, view.name)).keys()];
    const lacking = view.columns.filter((name) => !stored.includes(name));
    if (lacking.length === 0) continue;
    // In the order that the view has, so that it needn't be made again.
    const columns = [...stored.filter((name) => view.columns.includes(name)), ...lacking];
    const select = view.select.replace(/^SELECT .* FROM /, `SELECT ${columns.join(', ')} FROM `);
    steps.push({
      say: `show ${lacking.join(', ')} in the view ${view.name}`,
      apply: (own) => switchView(own, { ...view, columns, select }),
    });
  }
  const lacking = await securityLacking(session, of);
  if (lacking !== undefined)
    steps.push({
      say: lacking,
      apply: async (own) => {
        await secure(own, of);
        // As they are: a column that they lack has its own step.
        for (const view of viewsOf(of))
          await own.query(
            `ALTER VIEW ${view.name} ${view.invoker ? 'SET (security_invoker = true)' : 'RESET (security_invoker)'}`,
          );
        await letReadersIn(own, of);
      },
    });
  return steps;
}

/** The columns of a table or view, with their types. Empty: there is none. */
export async function typesOf(session: Session, name: string): Promise<Map<string, string>> {
  const { rows } = await session.query(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [name],
  );
  return new Map(rows.map((row) => [String(row['name']), String(row['type'])]));
}

export const storedType = ({ type }: Pick<Column, 'type'>): string =>
  type === 'timestamptz' ? 'timestamp with time zone' : type;
