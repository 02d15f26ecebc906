// References that name the whole primary key of another table: PostgreSQL can declare a foreign key for them.
import type { Pipeline, TableSpec } from '../specs.ts';
import { same } from '../declaration.ts';
import type { ForeignKey, TableLayout } from './table-layout.ts';

type Parts = Pick<TableLayout, 'tenant' | 'identity' | 'columns' | 'references'>;

export function foreignKeysOf(
  own: Parts,
  effects: Pipeline['effects'],
  layoutOfOther: (spec: TableSpec) => Omit<TableLayout, 'foreignKeys'>,
): ForeignKey[] {
  return own.references.flatMap(({ name, of, on }): ForeignKey[] => {
    const other = effects.find((one) => one.kind === 'table' && same(one.from, of)) as TableSpec | undefined;
    if (!other) return [];
    const to = layoutOfOther(other);
    const columns = to.identity.map((column) => {
      const pair =
        column === to.tenant
          ? own.tenant
          : [...own.identity, ...own.columns].find((one) => `/${on[one.name]}` === column.path);
      return pair?.type === column.type ? pair.name : undefined;
    });
    const whole = columns.filter((one) => one !== undefined);
    const beside = Object.entries(on).some(([mine, theirs]) => {
      const at = to.identity.findIndex(({ path }) => path === `/${theirs}`);
      return columns[at] !== mine;
    });
    if (whole.length < columns.length || beside) return [];
    return [
      {
        reference: name,
        projection: other.name,
        version: other.version,
        table: other.table,
        columns: whole,
        to: to.identity.map((column) => column.name),
      },
    ];
  });
}
