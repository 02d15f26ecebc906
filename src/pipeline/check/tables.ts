// Checks the tables of a pipeline: names that PostgreSQL takes, each used once, and columns that exist.
import { type Model, typeOf } from '../../model/model.ts';
import { about, error, ref, same } from '../declaration.ts';
import type { ColumnType, Finding, Pipeline, TableSpec } from '../specs.ts';
import { type TableLayout, layoutOf } from '../tables/layout.ts';
import { unfit } from '../tables/names.ts';

const TYPES: ReadonlySet<ColumnType> = new Set([
  'text',
  'bigint',
  'numeric',
  'double precision',
  'boolean',
  'timestamptz',
  'date',
  'jsonb',
]);

/** The source types must exist in the model. */
export function checkTables(pipeline: Pipeline, model: Model): Finding[] {
  const specs = pipeline.effects.filter((spec) => spec.kind === 'table');
  const layouts = specs.map((spec) => layoutOf(spec, pipeline, model));
  return [
    ...specs.flatMap((spec, at) => about(spec.name, checkTable(spec, layouts[at], pipeline, model))),
    ...takenTwice(layouts),
  ];
}

function checkTable(spec: TableSpec, layout: TableLayout | undefined, pipeline: Pipeline, model: Model): Finding[] {
  if (!layout) return [];
  const findings: Finding[] = [];
  const tables = [
    { name: layout.name, columns: [...layout.identity, ...layout.columns] },
    ...layout.children.map((child) => ({ name: child.name, columns: [...layout.identity, ...child.columns] })),
  ];
  for (const { name, columns } of tables) {
    findings.push(...nameFinding(`Projection ${spec.name} writes the table`, name, 'table'));
    for (const column of columns)
      findings.push(
        ...nameFinding(`The table ${name} of projection ${spec.name} has the column`, column.name, 'column'),
      );
    for (const twice of repeated(columns.map((column) => column.name)))
      findings.push(
        error(
          'table-column-twice',
          `The table ${name} of projection ${spec.name} would have two columns ${twice}`,
          "Rename one: columns: { field: { name: '…' } }. The column extra goes with extra: 'refuse'.",
        ),
      );
  }
  const options = [spec.columns, ...Object.values(spec.children).map(({ columns }) => columns)];
  for (const [field, { type }] of options.flatMap((columns) => Object.entries(columns)))
    if (type !== undefined && !TYPES.has(type))
      findings.push(
        error(
          'table-column-type',
          `Projection ${spec.name} gives the column of ${field} the type ${type as string}, which isn't one of them`,
          `Write ${[...TYPES].join(', ')}.`,
        ),
      );
  if (layout.rowSecurity !== undefined && !layout.tenant)
    findings.push(
      error(
        'table-row-security',
        `Projection ${spec.name} has rowSecurity, and its documents have no tenant`,
        'Remove rowSecurity: reference data have no tenant whose rows could be shown.',
      ),
    );
  const fields = typeOf(model, spec.from)?.fields ?? {};
  for (const child of layout.children) {
    if (Object.keys(fields).length > 0 && fields[child.field]?.kind !== 'list')
      findings.push(
        error(
          'table-child-unknown',
          `Projection ${spec.name} makes a table of ${child.field}, which is no list of ${ref(spec.from)}`,
          'Name a list of the document, or add it to the model.',
        ),
      );
    else if (!child.columns.some(({ name }) => name === child.key))
      findings.push(
        error(
          'table-child-key',
          `Projection ${spec.name} gives ${child.name} the key ${child.key}, which no element has`,
          'Name a field that every element has, or leave key out: then the position is the key.',
        ),
      );
  }
  findings.push(...uniqueFindings(spec, layout));
  const tables_ = pipeline.effects.filter((other) => other.kind === 'table');
  for (const { name, of } of layout.references)
    if (!tables_.some((other) => same(other.from, of)))
      findings.push(
        error(
          'table-reference-unknown',
          `Projection ${spec.name} references ${name}, documents of ${ref(of)}, which no table has`,
          'Declare a table for them, or remove the reference.',
        ),
      );
  return findings;
}

/** Equal values are told by the server: a JSON text or a binary fraction has several forms. */
const COMPARED: ReadonlySet<string> = new Set(['text', 'bigint', 'numeric', 'boolean', 'timestamptz', 'date']);

function uniqueFindings(spec: TableSpec, layout: TableLayout): Finding[] {
  const known = [...layout.identity, ...layout.columns];
  const unfitting = layout.unique.flatMap((of) => [
    ...of.filter((name) => !COMPARED.has(known.find((one) => one.name === name)?.type ?? '')),
    ...(of.length === 0 ? ['no field'] : []),
  ]);
  return [
    ...unfitting.map((name) =>
      error(
        'table-unique',
        `Projection ${spec.name} wants unique values of ${name}, which is no column, or one whose values can't be compared`,
        `Name fields with columns of ${[...COMPARED].join(', ')}.`,
      ),
    ),
    ...(layout.movable && layout.unique.length > 0
      ? [
          error(
            'table-unique',
            `Projection ${spec.name} wants unique values, and its documents may change their tenant`,
            'Remove unique, or let the tenant be a level of the partition key.',
          ),
        ]
      : []),
  ];
}

function nameFinding(what: string, name: string, kind: 'table' | 'column'): Finding[] {
  const why = unfit(name, kind);
  const hint =
    kind === 'table' ? "Write another name: into: '…'." : "Give it another name: columns: { field: { name: '…' } }.";
  return why === undefined ? [] : [error('table-name', `${what} ${JSON.stringify(name)}, which ${why}`, hint)];
}

/** Versions of one projection share the names that readers use; others must not. */
function takenTwice(layouts: readonly TableLayout[]): Finding[] {
  const owners = new Map<string, string>();
  const findings: Finding[] = [];
  for (const layout of layouts)
    for (const name of [layout.name, ...layout.children.map((child) => child.name)]) {
      const owner = owners.get(name);
      if (owner !== undefined && owner !== layout.projection)
        findings.push(
          error(
            'table-taken',
            `Projections ${owner} and ${layout.projection} both write the table ${name}`,
            "Give one of them another name: into: '…'.",
          ),
        );
      owners.set(name, layout.projection);
    }
  return findings;
}

const repeated = (names: readonly string[]): string[] => [
  ...new Set(names.filter((name, at) => names.indexOf(name) !== at)),
];
