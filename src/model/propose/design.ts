// A design that a proposal considers: the containers, and how each access pattern is answered.
import { averageOf, relationsOf, words } from '../relations.ts';
import type { Access, Entity, Needs } from './needs.ts';

/**
 * How a pattern that the base container doesn't answer in one partition is answered. `index`: a global secondary index,
 * costed as a copy without locators (ASM-E99).
 */
export type Way = 'base' | 'copy' | 'aggregate' | 'index';

/** One decision for everything that has options. */
export interface Choices {
  /** Entity → the field that its documents are partitioned by. */
  readonly keys: Readonly<Record<string, string>>;
  /** Pattern → way. */
  readonly ways: Readonly<Record<string, Way>>;
  /** Entities whose documents are elements of their parent's document. */
  readonly embedded: readonly string[];
  /** Entities whose policy indexes every path. */
  readonly allPaths: readonly string[];
}

export interface Derived {
  readonly name: string;
  readonly kind: 'copy' | 'aggregate';
  readonly type: string;
  readonly from: Entity;
  readonly container: string;
  /** Fields of the key: the partition key is the first, and for a copy only it. */
  readonly group: readonly string[];
  readonly serves: readonly Access[];
  readonly sums: readonly string[];
  /** No update changes a field of the group, so its rows need no locator. */
  readonly stable: boolean;
}

export const upper = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
export const lower = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
export const containerOf = ({ name }: Pick<Entity, 'name'>): string => {
  const plural = /[^aeiou]y$/.test(name)
    ? `${name.slice(0, -1)}ies`
    : /(s|x|ch)$/.test(name)
      ? `${name}es`
      : `${name}s`;
  return upper(plural);
};

/** The documents that a read of an entity gets: its limit, or the average number of the parent's. */
export function rowsOf({ entities, requirements }: Pick<Needs, 'entities' | 'requirements'>, access: Access): number {
  if (access.kind === 'read') return 1;
  const entity = entities.find(({ name }) => name === access.entity);
  const stated = access.by.flatMap((field) => {
    const parent = entities.find((one) => words(`${one.name}Id`) === words(field));
    const average = parent && averageOf(relationsOf(requirements, { type: parent.name }, { type: access.entity }));
    return average === undefined ? [] : [average];
  });
  const spread = access.by.reduce(
    (rest, field) => rest / valuesOf({ entities }, access.entity, field),
    entity?.count ?? 1,
  );
  const found = Math.max(1, Math.round(stated.length > 0 ? Math.min(...stated) : spread));
  return Math.min(found, access.limit ?? Infinity);
}

/** How many values a field has: stated, or as many as the entity that it refers to has documents. */
export function valuesOf({ entities }: Pick<Needs, 'entities'>, entity: string, field: string): number {
  const own = entities.find(({ name }) => name === entity);
  if (field === 'id') return own?.count ?? 1;
  const stated = own?.fields.find(({ name }) => name === field)?.values;
  const referred = entities.find(({ name }) => words(`${name}Id`) === words(field));
  return stated ?? referred?.count ?? Math.max(1, Math.round((own?.count ?? 1) / 10));
}

/** Entity → its parent, where the child has the parent's id. */
export const parentOf = ({ entities }: Needs, entity: Entity): Entity | undefined =>
  entities.find((one) => one !== entity && entity.fields.some(({ name }) => words(name) === words(`${one.name}Id`)));

export const parentField = (parent: Entity, child: Entity): string =>
  child.fields.find(({ name }) => words(name) === words(`${parent.name}Id`))?.name ?? '';

/** Whether a request of this access reaches one partition of a container with this key. */
export const reaches = (access: Access, key: string): boolean => access.by.includes(key);

const isTime = (field: string): boolean => /^(day|date|month|year|hour)$|(At|Time|Day|Date)$/.test(field);

/** Whether an update may change a field of the group. */
const changes = ({ kind, entity, attributes }: Access, from: Entity, group: readonly string[]): boolean =>
  kind === 'update' &&
  entity === from.name &&
  (/\ball\b/i.test(attributes) || group.some((field) => new RegExp(String.raw`\b${field}\b`).test(attributes)));

/** The copies and aggregates of these choices: reads by the same fields share one. */
export function derivedOf(needs: Needs, choices: Choices): Derived[] {
  const derived = new Map<string, Derived>();
  for (const access of needs.accesses) {
    const way = choices.ways[access.id];
    const from = needs.entities.find(({ name }) => name === access.entity);
    if (!from || way === undefined || way === 'base') continue;
    // A key that grows with time takes all writes at once, so a day comes last.
    const fields = access.by.toSorted((a, b) => Number(isTime(a)) - Number(isTime(b)));
    const group = way === 'aggregate' ? fields : fields.slice(0, 1);
    const suffix = group.map(upper).join('').replaceAll('Id', '');
    const container = `${way === 'aggregate' ? `${upper(from.name)}Totals` : containerOf(from)}By${suffix}`;
    const before = derived.get(container);
    derived.set(container, {
      name: container.replaceAll(/(?<!^)(?=[A-Z])/g, '-').toLowerCase(),
      kind: way === 'aggregate' ? way : 'copy',
      type: lower(`${from.name}${way === 'aggregate' ? 'Total' : ''}By${suffix}`),
      from,
      container,
      group,
      serves: [...(before?.serves ?? []), access],
      sums: [...new Set([...(before?.sums ?? []), ...access.sums])],
      stable: way === 'index' || !needs.accesses.some((update) => changes(update, from, group)),
    });
  }
  return [...derived.values()];
}
