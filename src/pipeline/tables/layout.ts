// The tables of one projection: names, columns and keys, from the declaration and the model's fields.
import { type Field, type FieldKind, type Fields, fieldAt } from '../../model/fields.ts';
import { type Model, containerOf, typeOf } from '../../model/model.ts';
import { typeRules } from '../discriminator.ts';
import type { ChildOption, ColumnOption, ColumnType, Pipeline, TableSpec } from '../specs.ts';
import { tenantRuleOf } from '../tenant.ts';
import { foreignKeysOf } from './foreign-keys.ts';
import { snake } from './names.ts';
import type { ChildTable, Column, IdentityColumn, TableLayout } from './table-layout.ts';

export type * from './table-layout.ts';

export const EXTRA = 'extra';
export const POSITION = 'position';
const VALUE = 'value';

/** A type that the model doesn't have, has no columns but the declared ones; `checkPipeline` says so. */
export function layoutOf(
  spec: TableSpec,
  pipeline: Pick<Pipeline, 'tenant' | 'sources'> & Partial<Pick<Pipeline, 'effects'>>,
  model: Model,
): TableLayout {
  const known = typeOf(model, spec.from)?.fields ?? {};
  const { discriminator = 'type' } = typeRules(pipeline.sources, spec.from);
  const rule = tenantRuleOf(pipeline, model, spec.from.container);
  const paths = containerOf(model, spec.from.container)?.partitionKey ?? [];
  const level = rule ? paths.indexOf(`/${rule.field}`) : -1;
  const named = (field: string): string => spec.columns[field]?.name ?? snake(field);
  const keyed = (path: string): IdentityColumn['type'] => identityType(fieldAt(known, path));
  const levels = paths.map((path, at): IdentityColumn => ({
    name: named(path.slice(1)),
    path,
    from: at,
    type: keyed(path),
  }));
  const tenant: IdentityColumn | undefined = rule && {
    ...(levels[level] ?? { from: 'tenant', path: `/${rule.field}`, name: named(rule.field) }),
    type: rule.kind === 'string' ? 'text' : keyed(`/${rule.field}`),
  };
  const id: IdentityColumn = { name: named('id'), path: '/id', from: 'id', type: 'text' };
  const others = levels.filter((_, at) => at !== level);
  const identity = [...(tenant ? [tenant] : []), ...others, ...(paths.includes('/id') ? [] : [id])];
  const passed = [
    ...(typeof discriminator === 'string' ? [discriminator] : []),
    ...identity.map(({ path }) => path.slice(1)).filter((path) => !path.includes('/')),
  ];
  const fields = Object.entries(known).filter(([field]) => !passed.includes(field) && !(field in spec.children));
  const columns = [
    ...fields.map(([field, of]) => columnOf(field, of, spec.columns[field])),
    ...declaredOnly(spec.columns, known, passed),
  ];
  const layout: Omit<TableLayout, 'foreignKeys'> = {
    projection: spec.name,
    version: spec.version,
    name: spec.table,
    ...(tenant && { tenant }),
    movable: rule !== undefined && level === -1,
    identity,
    columns: [...columns, ...(spec.extra === 'keep' ? [{ name: EXTRA, type: 'jsonb' as const }] : [])],
    extra: spec.extra,
    children: Object.entries(spec.children).map(([field, child]) =>
      childOf(field, child, fieldAt(known, `/${field}`)?.element),
    ),
    references: spec.references.map(({ name, of, on }) => ({
      name,
      of,
      on: Object.fromEntries(Object.entries(on).map(([theirs, own]) => [named(own), theirs])),
    })),
    unique: spec.unique.map((of) => of.map(named)),
    ...(spec.rowSecurity !== undefined && { rowSecurity: spec.rowSecurity }),
    passed,
  };
  const { sources, tenant: declared, effects = [] } = pipeline;
  const alone = { sources, ...(declared !== undefined && { tenant: declared }) };
  return { ...layout, foreignKeys: foreignKeysOf(layout, effects, (other) => layoutOf(other, alone, model)) };
}

const identityType = (field: Field | undefined): IdentityColumn['type'] =>
  field?.kind === 'int' || field?.kind === 'number' ? 'numeric' : field?.kind === 'bool' ? 'boolean' : 'text';

const columnOf = (field: string, of: Field, option: ColumnOption | undefined): Column => ({
  name: option?.name ?? snake(field),
  field,
  type: option?.type ?? COLUMN_TYPES[of.kind],
});

/** What is mixed or unknown is `jsonb`. */
const COLUMN_TYPES: Readonly<Record<FieldKind, ColumnType>> = {
  text: 'text',
  int: 'bigint',
  number: 'double precision',
  moment: 'timestamptz',
  day: 'date',
  bool: 'boolean',
  any: 'jsonb',
  list: 'jsonb',
  object: 'jsonb',
};

/** Columns for fields that the model doesn't have. */
const declaredOnly = (
  columns: Readonly<Record<string, ColumnOption>>,
  known: Fields,
  passed: readonly string[],
): Column[] =>
  Object.entries(columns)
    .filter(([field]) => !Object.hasOwn(known, field) && !passed.includes(field))
    .map(([field, { name, type }]) => ({ name: name ?? snake(field), field, type: type ?? 'jsonb' }));

function childOf(field: string, option: ChildOption, element: Field | undefined): ChildTable {
  const position: Column = { name: POSITION, type: 'integer' };
  const scalar = element !== undefined && element.kind !== 'object' && element.kind !== 'list';
  if (scalar) {
    const type = option.columns[VALUE]?.type ?? COLUMN_TYPES[element.kind];
    const columns = [position, { name: option.columns[VALUE]?.name ?? VALUE, field: VALUE, type }];
    // An element has no other fields.
    return { name: option.into, field, scalar, key: POSITION, columns, extra: 'refuse' };
  }
  const known = element?.fields ?? {};
  const columns = [
    ...Object.entries(known).map(([name, of]) => columnOf(name, of, option.columns[name])),
    ...declaredOnly(option.columns, known, []),
  ];
  const key =
    option.key === undefined ? POSITION : (columns.find((one) => one.field === option.key)?.name ?? option.key);
  return {
    name: option.into,
    field,
    scalar,
    key,
    columns: [position, ...columns, ...(option.extra === 'keep' ? [{ name: EXTRA, type: 'jsonb' as const }] : [])],
    extra: option.extra,
  };
}
