// A catalog that is being made, statement by statement.
import type { RangeVar } from 'libpg-query';
import { type Names, type Relation, type SqlTable, TEMPORARY, findRelation } from '../catalog.ts';
import { isTree } from '../nodes.ts';

export interface Draft extends Names {
  readonly relations: Map<string, Relation>;
  readonly functions: Set<string>;
  readonly operators: Set<string>;
  path: readonly string[];
}

export const copyOf = ({
  relations,
  functions,
  operators,
  path,
}: Omit<Draft, 'relations' | 'functions' | 'operators'> & {
  readonly relations: ReadonlyMap<string, Relation>;
  readonly functions: ReadonlySet<string>;
  readonly operators: ReadonlySet<string>;
}): Draft => ({ relations: new Map(relations), functions: new Set(functions), operators: new Set(operators), path });

/** The name of a relation that a statement makes. */
export const newName = (draft: Draft, of: RangeVar | undefined): string => {
  const schema = of?.relpersistence === 't' ? TEMPORARY : (of?.schemaname ?? draft.path[0] ?? 'public');
  return `${schema}.${of?.relname ?? ''}`;
};

export const relationOf = (draft: Draft, of: RangeVar | undefined): Relation | undefined =>
  findRelation(draft, of?.schemaname, of?.relname ?? '');

export function tableOf(draft: Draft, of: RangeVar | undefined): SqlTable | undefined {
  const found = relationOf(draft, of);
  return found?.kind === 'table' ? found : undefined;
}

/** A table whose name is in a text, such as `'shop.orders'`. */
export function relationNamed(draft: Draft, name: string): Relation | undefined {
  const parts = name.split('.').map((part) => part.replaceAll('"', ''));
  return findRelation(draft, parts.length > 1 ? parts.at(-2) : undefined, parts.at(-1) ?? '');
}

export const change = (draft: Draft, { name }: SqlTable, by: Partial<SqlTable>): void => {
  const now = draft.relations.get(name);
  if (now?.kind === 'table') draft.relations.set(name, { ...now, ...by });
};

/** The tables of which it is a partition, and its partitions; itself too. */
export function kinOf(draft: Draft, table: SqlTable): SqlTable[] {
  const rootOf = ({ name, parent }: SqlTable): string => {
    const above = parent === undefined ? undefined : draft.relations.get(parent);
    return above?.kind === 'table' ? rootOf(above) : name;
  };
  const root = rootOf(table);
  return [...draft.relations.values()].filter((each) => each.kind === 'table' && rootOf(each) === root) as SqlTable[];
}

export function mark(draft: Draft, of: Relation, field: 'unclear' | 'unclearWrites', why: string): void {
  if (of.kind === 'view') draft.relations.set(of.name, { ...of, unclear: why });
  else for (const each of kinOf(draft, of)) change(draft, each, { [field]: why });
}

/** The relations that a statement names in any way: the check hasn't understood what happens to them. */
export function markMentioned(draft: Draft, statement: unknown): void {
  const names = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value === 'string') for (const [word] of value.matchAll(/[\p{L}_][\p{L}\p{N}_$]*/gu)) names.add(word);
    else if (Array.isArray(value)) value.forEach(visit);
    else if (isTree(value)) Object.values(value).forEach(visit);
  };
  visit(statement);
  for (const each of draft.relations.values())
    if (names.has(each.name.slice(each.name.indexOf('.') + 1)))
      mark(draft, each, 'unclear', 'is named by a statement that the check doesn’t read');
}
