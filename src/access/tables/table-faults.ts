// What is wrong with the tables of a projection as the database has them: missing, changed by hand, or closed to this role.
import { type Content, SCHEMA, tableName, uniqueConstraints, viewsOf } from '../../pipeline/tables/ddl.ts';
import type { Column, TableLayout } from '../../pipeline/tables/layout.ts';
import { type MadeTable, madeOf } from '../../pipeline/tables/made.ts';
import type { TableFault } from '../../pipeline/outside-sink.ts';
import type { Database, Session } from '../../postgres/database.ts';
import { failure } from '../../postgres/failure.ts';
import { SINKS_ERRORS } from '../errors.ts';
import { contentsOf, readersOf } from './contents.ts';
import { securityLacking } from './row-security.ts';
import { storedType, typesOf } from './migration.ts';

const MIGRATE = 'Run `millrace sql migrate`; with `--dry-run` it shows its steps first.';
const RIGHTS = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'] as const;

/** @throws MillraceError `unavailable`, `denied` */
export async function tableFaults(layout: TableLayout, database: Database, signal: AbortSignal): Promise<TableFault[]> {
  return database
    .transaction((session) => faultsOf(session, layout), { signal })
    .catch((error: unknown) => {
      throw failure(error, `The tables of ${layout.projection}@${layout.version} could not be looked at`);
    });
}

async function faultsOf(session: Session, layout: TableLayout): Promise<TableFault[]> {
  const id = `${layout.projection}@${layout.version}`;
  const { rows: schema } = await session.query(
    `SELECT has_schema_privilege(oid, 'USAGE') AS usable FROM pg_namespace WHERE nspname = '${SCHEMA}'`,
  );
  if (schema.length === 0) return [{ what: `The schema ${SCHEMA} does not exist`, hint: MIGRATE }];
  if (schema[0]?.['usable'] !== true)
    return [{ what: `This role may not use the schema ${SCHEMA}`, hint: granting('USAGE', `SCHEMA ${SCHEMA}`) }];
  for (const name of ['contents', 'readers']) {
    const lacking = await rightsLacking(session, `${SCHEMA}.${name}`, ['SELECT']);
    if (lacking === undefined) return [{ what: `The table ${SCHEMA}.${name} does not exist`, hint: MIGRATE }];
    if (lacking.length > 0) return [denied(`${SCHEMA}.${name}`, lacking)];
  }
  const live = (await contentsOf(session, layout)).find(({ state }) => state === 'live');
  if (!live) return [{ what: `There are no tables of ${id} yet`, hint: MIGRATE }];
  const of: Content = { layout, content: live.content };
  const faults: TableFault[] = [];
  const root = tableName(layout.name, live.content);
  const declared = uniqueConstraints(of).map(({ name }) => name);
  for (const made of madeOf(of).tables)
    faults.push(...(await faultsIn(session, made, columnsOf(of, made), layout, made.name === root ? declared : [])));
  const readers = await readersOf(session, layout);
  if (readers?.version === layout.version)
    for (const { name, columns } of viewsOf(of)) {
      const stored = await typesOf(session, name);
      const lacking = columns.filter((column) => !stored.has(column));
      if (stored.size === 0) faults.push({ what: `The view ${name} is missing`, hint: MIGRATE });
      else if (lacking.length > 0) faults.push({ what: `The view ${name} lacks ${lacking.join(', ')}`, hint: MIGRATE });
    }
  if (readers?.version === layout.version && readers.content === live.content) {
    const lacking = await securityLacking(session, of);
    if (lacking !== undefined) faults.push({ what: `The database has yet to ${lacking}`, hint: MIGRATE });
  }
  return faults;
}

/** The declared columns of a table; undefined: guards, whose columns are always the same. */
function columnsOf({ layout, content }: Content, { name }: MadeTable): readonly Column[] | undefined {
  if (name === tableName(layout.name, content)) return [...layout.identity, ...layout.columns];
  const child = layout.children.find((one) => name === tableName(one.name, content));
  return child && [...layout.identity, ...child.columns];
}

async function faultsIn(
  session: Session,
  { name, keys }: MadeTable,
  columns: readonly Column[] | undefined,
  { projection, children }: TableLayout,
  declared: readonly string[],
): Promise<TableFault[]> {
  const lacking = await rightsLacking(session, name, RIGHTS);
  if (lacking === undefined) {
    // A list that was added to the declaration gets its table by a migration.
    const added = children.some((child) => name.startsWith(`${SCHEMA}.${child.name}_`));
    return [
      added
        ? { what: `The table ${name} is missing`, hint: MIGRATE }
        : {
            what: `The table ${name} is missing, although Millrace created it`,
            hint: `Run \`millrace projections rebuild ${projection}\`, then \`millrace projections promote ${projection}\`.`,
          },
    ];
  }
  const faults: TableFault[] = lacking.length > 0 ? [denied(name, lacking)] : [];
  const { rows: hidden } = await session.query('SELECT row_security_active(to_regclass($1)) AS active', [name]);
  if (hidden[0]?.['active'] === true)
    faults.push({
      what: `Row-level security hides rows of ${name} from this role, so it writes none`,
      hint: 'Let it be the owner of the table, or run `ALTER ROLE … BYPASSRLS`.',
    });
  const stored = await typesOf(session, name);
  for (const column of columns ?? []) {
    const type = stored.get(column.name);
    if (type === undefined) faults.push({ what: `The table ${name} lacks the column ${column.name}`, hint: MIGRATE });
    else if (type !== storedType(column))
      faults.push({
        what: `${name}.${column.name} is ${type}, and the pipeline declares ${column.type}`,
        hint: SINKS_ERRORS['tables-differ'].hint,
      });
  }
  const known = columns?.map((column) => column.name) ?? [...stored.keys()];
  for (const { kind, named } of await byHand(session, name, keys, known, declared))
    faults.push({
      what: `${name} has ${kind} that Millrace did not make: ${named}. It may refuse or change rows`,
      hint: `Remove it: ${REMEDIES[kind](name, named)}.`,
    });
  for (const lost of await constraintsLacking(session, name, declared))
    faults.push({
      what: `${name} lacks the constraint ${lost}, which someone has dropped`,
      hint: `Run \`millrace projections rebuild ${projection}\`, then \`millrace projections promote ${projection}\`.`,
    });
  return faults;
}

async function constraintsLacking(session: Session, table: string, declared: readonly string[]): Promise<string[]> {
  if (declared.length === 0) return [];
  const { rows } = await session.query(
    `SELECT name FROM unnest($2::text[]) AS name WHERE NOT EXISTS (
  SELECT 1 FROM pg_constraint WHERE conrelid = to_regclass($1) AND conname = name AND convalidated)`,
    [table, declared],
  );
  return rows.map(({ name }) => String(name));
}

type ByHand = 'a trigger' | 'a rule' | 'a constraint' | 'a unique index' | 'a column without a default' | 'another key';

const REMEDIES: Readonly<Record<ByHand, (table: string, name: string) => string>> = {
  'a trigger': (table, name) => `\`DROP TRIGGER ${name} ON ${table}\``,
  'a rule': (table, name) => `\`DROP RULE ${name} ON ${table}\``,
  'a constraint': (table, name) => `\`ALTER TABLE ${table} DROP CONSTRAINT ${name}\``,
  'a unique index': (_, name) => `\`DROP INDEX ${SCHEMA}.${name}\``,
  'a column without a default': (table, name) => `\`ALTER TABLE ${table} ALTER COLUMN ${name} DROP NOT NULL\``,
  'another key': () => 'rebuild the projection, which makes tables of its own',
};

/** What someone has added, by its kind. Citus adds triggers of its own. */
async function byHand(
  session: Session,
  table: string,
  keys: readonly string[],
  columns: readonly string[],
  declared: readonly string[],
): Promise<{ readonly kind: ByHand; readonly named: string }[]> {
  const { rows } = await session.query(
    `SELECT 'a trigger' AS kind, quote_ident(tgname) AS named FROM pg_trigger
WHERE tgrelid = to_regclass($1) AND NOT tgisinternal AND tgname NOT LIKE 'truncate\\_trigger\\_%'
UNION ALL SELECT 'a rule', quote_ident(rulename) FROM pg_rewrite WHERE ev_class = to_regclass($1)
UNION ALL SELECT 'a constraint', quote_ident(conname) FROM pg_constraint
WHERE conrelid = to_regclass($1) AND (contype IN ('c', 'u', 'x') OR contype = 'f' AND conname NOT LIKE '%\\_of\\_%\\_fkey')
  AND conname <> ALL ($4::text[]) AND coalesce((to_jsonb(pg_constraint)->>'conenforced')::boolean, true)
UNION ALL SELECT 'a unique index', quote_ident(c.relname) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = to_regclass($1) AND i.indisunique AND NOT i.indisprimary
  AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = i.indexrelid)
UNION ALL SELECT 'a column without a default', quote_ident(attname) FROM pg_attribute
WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped AND attnotnull AND NOT atthasdef
  AND attidentity = '' AND attname <> ALL ($3::text[])
UNION ALL SELECT 'another key', coalesce(string_agg(a.attname, ', ' ORDER BY k.place), 'none')
FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k (att, place)
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.att
WHERE i.indrelid = to_regclass($1) AND i.indisprimary
HAVING coalesce(array_agg(a.attname::text ORDER BY k.place), '{}') <> $2::text[]`,
    [table, keys, columns, declared],
  );
  return rows.map(({ kind, named }) => ({ kind: kind as ByHand, named: String(named) }));
}

/** The rights that this role lacks. Undefined: there is no such table. */
async function rightsLacking(
  session: Session,
  table: string,
  rights: readonly string[],
): Promise<string[] | undefined> {
  const { rows } = await session.query(
    `SELECT array_to_string(ARRAY(SELECT r FROM unnest($2::text[]) AS r WHERE NOT has_table_privilege(c.oid, r)), ', ') AS lacking
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname || '.' || c.relname = $1`,
    [table, rights],
  );
  const [row] = rows;
  return row && String(row['lacking']).split(', ').filter(Boolean);
}

const denied = (table: string, lacking: readonly string[]): TableFault => ({
  what: `This role lacks ${lacking.join(', ')} on ${table}`,
  hint: granting(lacking.join(', '), table),
});

const granting = (rights: string, on: string): string =>
  `Let the owner run \`GRANT ${rights} ON ${on} TO ROLE\`, with the role of POSTGRES_URL.`;
