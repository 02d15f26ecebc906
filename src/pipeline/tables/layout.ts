// The tables of one projection: names, columns and keys, from the declaration and the model's examples.
import { type Model, containerOf, examplesOf } from '../../model/model.ts';
import { type ObjectShape, type Shape, seeObject } from '../../model/types/shape.ts';
import { typeRules } from '../discriminator.ts';
import type { ChildOption, ColumnOption, ColumnType, Doc, Pipeline, TableSpec } from '../specs.ts';
import { tenantRuleOf } from '../tenant.ts';
import { foreignKeysOf } from './foreign-keys.ts';
import { snake } from './names.ts';
import { isUtcMoment } from './moments.ts';
import type { ChildTable, Column, IdentityColumn, TableLayout } from './table-layout.ts';

export type * from './table-layout.ts';

export const EXTRA = 'extra';
export const POSITION = 'position';
const VALUE = 'value';

/** Undefined: the model has no example of the type, or its container is unknown; `checkPipeline` says so. */
export function layoutOf(
  spec: TableSpec,
  pipeline: Pick<Pipeline, 'tenant' | 'sources'> & Partial<Pick<Pipeline, 'effects'>>,
  model: Model,
): TableLayout {
  const examples = examplesOf(model, spec.from);
  const shape: ObjectShape = { seen: 0, fields: new Map() };
  const { upcast, discriminator = 'type' } = typeRules(pipeline.sources, spec.from);
  for (const example of examples) seeObject(shape, seen(example, upcast));
  const rule = tenantRuleOf(pipeline, model, spec.from.container);
  const paths = containerOf(model, spec.from.container)?.partitionKey ?? [];
  const level = rule ? paths.indexOf(`/${rule.field}`) : -1;
  const named = (field: string): string => spec.columns[field]?.name ?? snake(field);
  const keyed = (path: string): IdentityColumn['type'] => identityType(shapeAt(shape, path));
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
  const fields = [...shape.fields].filter(([field]) => !passed.includes(field) && !(field in spec.children));
  const columns = [
    ...fields.map(([field, of]) => columnOf(field, of.shape, spec.columns[field], examples)),
    ...declaredOnly(spec.columns, shape, passed),
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
      childOf(field, child, shape.fields.get(field)?.shape.elements, examples),
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

function seen(example: Doc, upcast: ((old: unknown) => Doc) | undefined): Doc {
  try {
    return upcast ? upcast(example) : example;
  } catch {
    // `checkExamples` reports it.
    return example;
  }
}

function shapeAt(shape: ObjectShape, path: string): Shape | undefined {
  const [first = '', ...rest] = path.split('/').slice(1);
  const found = shape.fields.get(first)?.shape;
  return rest.length === 0 ? found : found?.object && shapeAt(found.object, `/${rest.join('/')}`);
}

function identityType(shape: Shape | undefined): IdentityColumn['type'] {
  if (shape?.scalars.has('number') && !shape.scalars.has('string')) return 'numeric';
  return shape?.scalars.has('boolean') && !shape.scalars.has('string') ? 'boolean' : 'text';
}

function columnOf(field: string, shape: Shape, option: ColumnOption | undefined, holders: readonly Doc[]): Column {
  const values = holders.map((doc) => doc[field]).filter((value) => value !== undefined && value !== null);
  return { name: option?.name ?? snake(field), field, type: option?.type ?? typeOf(shape, values) };
}

/** Columns for fields that no example has. */
const declaredOnly = (
  columns: Readonly<Record<string, ColumnOption>>,
  shape: ObjectShape | undefined,
  passed: readonly string[],
): Column[] =>
  Object.entries(columns)
    .filter(([field]) => !shape?.fields.has(field) && !passed.includes(field))
    .map(([field, { name, type }]) => ({ name: name ?? snake(field), field, type: type ?? 'jsonb' }));

/** What all of the examples allow; whatever is mixed or unknown is `jsonb`. */
function typeOf({ scalars, list, object }: Shape, values: readonly unknown[]): ColumnType {
  const kinds = [...scalars].filter((kind) => kind !== 'null');
  if (list || object || kinds.length !== 1) return 'jsonb';
  if (kinds[0] === 'boolean') return 'boolean';
  if (kinds[0] === 'number') return values.every(Number.isSafeInteger) ? 'bigint' : 'numeric';
  return values.length > 0 && values.every(isUtcMoment) ? 'timestamptz' : 'text';
}

function childOf(field: string, option: ChildOption, shape: Shape | undefined, holders: readonly Doc[]): ChildTable {
  const elements = holders.flatMap((doc) => (Array.isArray(doc[field]) ? (doc[field] as unknown[]) : []));
  const position: Column = { name: POSITION, type: 'integer' };
  const scalar = shape !== undefined && shape.object === undefined && shape.scalars.size > 0;
  if (scalar) {
    const type = option.columns[VALUE]?.type ?? typeOf(shape, elements);
    const columns = [position, { name: option.columns[VALUE]?.name ?? VALUE, field: VALUE, type }];
    // An element has no other fields.
    return { name: option.into, field, scalar, key: POSITION, columns, extra: 'refuse' };
  }
  const docs = elements as Doc[];
  const fields = [...(shape?.object?.fields ?? [])];
  const columns = [
    ...fields.map(([name, of]) => columnOf(name, of.shape, option.columns[name], docs)),
    ...declaredOnly(option.columns, shape?.object, []),
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
