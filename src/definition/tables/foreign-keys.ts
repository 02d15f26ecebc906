// What PostgreSQL enforces between documents: references to the whole primary key of another table, and unique values.
import type { Pipeline, TableSpec } from '../specs.ts';
import { same } from '../declaration.ts';
import type { Column, ForeignKey, TableLayout } from './table-layout.ts';

type Parts = Pick<TableLayout, 'tenant' | 'movable' | 'identity' | 'columns' | 'references'>;

/** Rows may have to wait for another document. */
export const isConstrained = ({ foreignKeys, unique }: Pick<TableLayout, 'foreignKeys' | 'unique'>): boolean =>
  foreignKeys.length > 0 || unique.length > 0;

/** The columns that decide whether a row waits, without those of the identity. */
export function decidingColumns({ foreignKeys, unique, identity, columns }: TableLayout): Column[] {
  const names = new Set([...foreignKeys.flatMap((key) => key.columns), ...unique.flat()]);
  return columns.filter(({ name }) => names.has(name) && !identity.some((own) => own.name === name));
}

/** The foreign keys of a table; a text: why a reference that is declared so can't be enforced. */
export function foreignKeysOf(
  spec: TableSpec,
  own: Parts,
  effects: Pipeline['effects'],
  layoutOfOther: (spec: TableSpec) => TableLayout,
): (ForeignKey | string)[] {
  return spec.references.flatMap((reference): (ForeignKey | string)[] => {
    if (reference.enforced !== true) return [];
    const other = effects.find((one) => one.kind === 'table' && same(one.from, reference.of)) as TableSpec | undefined;
    if (!other) return [];
    const why = (text: string): string[] => [`the reference ${reference.name}: ${text}`];
    if (other.name === spec.name || references(other, spec, effects)) return why('its tables reference each other');
    const to = layoutOfOther(other);
    if (own.movable || to.movable) return why('its documents may change their tenant');
    if ((own.tenant === undefined) !== (to.tenant === undefined)) return why('only one of the tables has a tenant');
    const on = own.references.find(({ name }) => name === reference.name)?.on ?? {};
    const pairs = to.identity.map((column) => {
      if (column === to.tenant) return own.tenant;
      const [name] = Object.entries(on).find(([, theirs]) => `/${theirs}` === column.path) ?? [];
      return [...own.identity, ...own.columns].find((one) => one.name === name);
    });
    const lacking = to.identity.filter((_, at) => pairs[at] === undefined);
    if (lacking.length > 0)
      return why(`\`on\` lacks ${lacking.map(({ path }) => path.slice(1)).join(', ')}, a part of the other key`);
    const beside = Object.entries(on).find(
      ([name, theirs]) => !to.identity.some((column, at) => `/${theirs}` === column.path && pairs[at]?.name === name),
    );
    if (beside) return why(`${beside[1]} is no part of the other table’s key, or not this document’s tenant`);
    const differs = to.identity.find((column, at) => column.type !== pairs[at]?.type);
    if (differs) return why(`the column for ${differs.path.slice(1)} has another type than ${differs.type}`);
    return [
      {
        projection: other.name,
        table: other.table,
        columns: pairs.map((one) => one?.name ?? ''),
        to: to.identity.map(({ name }) => name),
      },
    ];
  });
}

/** Whether one leads to the other by enforced references. */
function references(
  from: TableSpec,
  to: TableSpec,
  effects: Pipeline['effects'],
  passed: readonly string[] = [],
): boolean {
  if (passed.includes(from.name)) return false;
  return from.references
    .filter(({ enforced }) => enforced === true)
    .some(({ of }) => {
      const next = effects.find((one) => one.kind === 'table' && same(one.from, of)) as TableSpec | undefined;
      return next !== undefined && (next.name === to.name || references(next, to, effects, [...passed, from.name]));
    });
}
