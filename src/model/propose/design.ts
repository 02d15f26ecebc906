// A design that a proposal considers: the containers, and how each access pattern is answered.
import { averageOf, relationsOf, words } from '../relations.ts';
import type { NeededAccess, Entity, Needs } from './needs.ts';

/**
 * How a pattern that the base container doesn't answer in one partition is answered. `beside`: a copy in the container of
 * another entity that has the copy's key. `index`: a global secondary index, costed as a copy without locators (ASM-E99).
 */
export type Way = 'base' | 'copy' | 'beside' | 'aggregate' | 'index';

/** Bytes that an embedded list may have at most: half of what an item may have. */
export const MOST = 1e6;

/** One decision for everything that has options. */
export interface Choices {
  /** Entity → the field that its documents are partitioned by; `tenantId/userId`: a hierarchical key. */
  readonly keys: Readonly<Record<string, string>>;
  /** Pattern → way. */
  readonly ways: Readonly<Record<string, Way>>;
  /** Entity → the entity in whose container its documents are, beside those of that entity. */
  readonly homes: Readonly<Record<string, string>>;
  /** Entities whose documents are elements of their parent's document. */
  readonly embedded: readonly string[];
  /** Entities whose policy indexes every path. */
  readonly allPaths: readonly string[];
}

export interface ProposedDerived {
  readonly name: string;
  readonly kind: 'copy' | 'aggregate';
  readonly type: string;
  readonly from: Entity;
  readonly container: string;
  /** Fields of the key: the partition key is the first, and for a copy only it. */
  readonly group: readonly string[];
  readonly serves: readonly NeededAccess[];
  readonly sums: readonly string[];
  /** No update changes a field of the group, so its rows need no locator. */
  readonly stable: boolean;
}

export const upper = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
export const lower = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
export const proposedContainerOf = ({ name }: Pick<Entity, 'name'>): string => {
  const plural = /[^aeiou]y$/.test(name)
    ? `${name.slice(0, -1)}ies`
    : /(s|x|ch)$/.test(name)
      ? `${name}es`
      : `${name}s`;
  return upper(plural);
};

/** The documents that a read of an entity gets: its limit, or the average number of the parent's. */
export function proposedRowsOf(
  { entities, requirements }: Pick<Needs, 'entities' | 'requirements'>,
  access: NeededAccess,
): number {
  if (access.kind === 'read') return 1;
  const entity = entities.find(({ name }) => name === access.entity);
  const parents = access.by.flatMap((field) => entities.find((one) => words(`${one.name}Id`) === words(field)) ?? []);
  // The project's id says which tenant it is, so the tenant leaves no fewer of its tasks.
  const fields = access.by.filter(
    (field) => !parents.some((parent) => parent.fields.some(({ name }) => name === field)),
  );
  const stated = parents.flatMap(
    (parent) => averageOf(relationsOf(requirements, { type: parent.name }, { type: access.entity })) ?? [],
  );
  const spread = fields.reduce(
    (rest, field) => rest / proposedValuesOf({ entities }, access.entity, field),
    entity?.count ?? 1,
  );
  // Two fields that know nothing of each other leave less than the parent's average.
  const found = stated.length === 0 ? spread : Math.min(...stated, ...(fields.length > 1 ? [spread] : []));
  return Math.min(Math.max(1, Math.round(found)), access.limit ?? Infinity);
}

/** How many values a field has: stated, or as many as the entity that it refers to has documents, or one a document. */
export function proposedValuesOf({ entities }: Pick<Needs, 'entities'>, entity: string, field: string): number {
  const own = entities.find(({ name }) => name === entity);
  if (field === 'id') return own?.count ?? 1;
  const stated = own?.fields.find(({ name }) => name === field)?.values;
  const referred = entities.find(({ name }) => words(`${name}Id`) === words(field));
  return stated ?? referred?.count ?? own?.count ?? 1;
}

/** How many values a key has, over the documents of one entity. */
export const valuesOfKey = (needs: Needs, entity: Entity, key: string): number =>
  Math.min(
    entity.count,
    levelsOf(key).reduce(
      (all, level) => all * proposedValuesOf(needs, entity.name, proposedSourceOf(entity, level) ?? level),
      1,
    ),
  );

/** Entity → its parent, where the child has the parent's id. */
export const parentOf = ({ entities }: Needs, entity: Entity): Entity | undefined =>
  entities.find((one) => one !== entity && entity.fields.some(({ name }) => words(name) === words(`${one.name}Id`)));

export const parentField = (parent: Entity, child: Entity): string =>
  child.fields.find(({ name }) => words(name) === words(`${parent.name}Id`))?.name ?? '';

/** The entity whose documents hold this one as an element. */
export const holderOf = (needs: Needs, { embedded }: Choices, entity: Entity): Entity | undefined =>
  embedded.includes(entity.name) ? parentOf(needs, entity) : undefined;

/** The entity by which the container of an entity is named. */
export const homeOf = ({ homes }: Choices, name: string): string => homes[name] ?? name;

export const proposedKeyOf = (choices: Choices, name: string): string => choices.keys[homeOf(choices, name)] ?? 'id';

export const levelsOf = (key: string): string[] => key.split('/');

/** The field of the entity that a level of a key is filled from: a parent beside its children carries its id as `orderId`. */
export function proposedSourceOf({ name, fields }: Entity, level: string): string | undefined {
  if (fields.some((field) => field.name === level)) return level;
  return words(level) === words(`${name}Id`) ? 'id' : undefined;
}

/** The entities whose documents are in this entity's container, itself first. */
export const membersOf = ({ entities }: Needs, choices: Choices, home: string): Entity[] =>
  entities
    .filter(({ name }) => homeOf(choices, name) === home && !choices.embedded.includes(name))
    .toSorted((a, b) => Number(b.name === home) - Number(a.name === home));

/** `prefix`: the first levels of a hierarchical key, so some of the partitions. */
export type Reach = 'one' | 'prefix' | 'all';

/** How many partitions of a container with this key a request must ask that knows these fields of an entity. */
export function reachOf(entity: Entity, by: readonly string[], key: string): Reach {
  const known = knownOf(entity, by, key).length;
  if (known === levelsOf(key).length) return 'one';
  return known > 0 ? 'prefix' : 'all';
}

/** The first levels of a key that a request knows. */
export function knownOf(entity: Entity, by: readonly string[], key: string): string[] {
  const levels = levelsOf(key);
  const unknown = levels.findIndex((level) => !by.includes(proposedSourceOf(entity, level) ?? level));
  return unknown < 0 ? levels : levels.slice(0, unknown);
}

/** What a read asks: an embedded child's parent, by the parent's fields. */
export function proposedAskedOf(
  needs: Needs,
  choices: Choices,
  access: NeededAccess,
): { entity: Entity; by: readonly string[] } {
  const entity = needs.entities.find(({ name }) => name === access.entity)!;
  const holder = holderOf(needs, choices, entity);
  if (!holder) return { entity, by: access.by };
  const field = parentField(holder, entity);
  return { entity: holder, by: access.by.map((known) => (known === field ? 'id' : known)) };
}

/** How far a read of the base containers goes, its children included. */
export function reachOfRead(needs: Needs, choices: Choices, access: NeededAccess): Reach {
  const { entity, by } = proposedAskedOf(needs, choices, access);
  const own = reachOf(entity, by, proposedKeyOf(choices, entity.name));
  const others = apart(needs, choices, access).map((child) =>
    reachOf(child, [parentField(entity, child)], proposedKeyOf(choices, child.name)),
  );
  const all = [own, ...others];
  return all.includes('all') ? 'all' : all.includes('prefix') ? 'prefix' : 'one';
}

/** The children of a read that neither its document nor its partition has. */
export function apart(needs: Needs, choices: Choices, access: NeededAccess): Entity[] {
  const { entity } = proposedAskedOf(needs, choices, access);
  return needs.entities.filter(
    (child) =>
      access.withs.includes(child.name) &&
      !choices.embedded.includes(child.name) &&
      !(beside(choices, entity, child) && parentKeyed(choices, entity, child)),
  );
}

/** The entities that are elements of this one's documents. */
export const proposedChildrenOf = (needs: Needs, choices: Choices, entity: Entity): Entity[] =>
  needs.entities.filter((one) => holderOf(needs, choices, one) === entity);

/** How many children a parent has on average, by the requirements. */
export const proposedCountOf = ({ requirements }: Needs, parent: Entity, child: Entity): number =>
  averageOf(relationsOf(requirements, { type: parent.name }, { type: child.name })) ?? 1;

/** Bytes of a document, with its elements. */
export const proposedSizeOf = (needs: Needs, choices: Choices, entity: Entity): number =>
  proposedChildrenOf(needs, choices, entity).reduce(
    (bytes, child) => bytes + child.bytes * proposedCountOf(needs, entity, child),
    entity.bytes,
  );

/** Whether both have documents in one container. */
export const beside = (choices: Choices, a: Entity, b: Entity): boolean =>
  homeOf(choices, a.name) === homeOf(choices, b.name);

/** Whether a partition has one parent with its children, and nothing else of these two. */
const parentKeyed = (choices: Choices, parent: Entity, child: Entity): boolean =>
  proposedKeyOf(choices, parent.name) === parentField(parent, child);

/**
 * The part of an entity's documents that the largest value of a field has: as stated, else that of the parent with the most
 * children, and at least twice the average. `from`: which of these it is.
 */
export function proposedShareOf(
  needs: Needs,
  entity: Entity,
  field: string,
): { readonly share: number; readonly from: string } {
  const source = proposedSourceOf(entity, field) ?? field;
  const own = entity.fields.find(({ name }) => name === source)?.largest;
  // The skew of a tenant is stated once, and holds for every entity that has the field.
  const stated = own ?? needs.entities.flatMap(({ fields }) => fields).find(({ name }) => name === field)?.largest;
  if (stated !== undefined) return { share: stated, from: `the largest ${field} is stated` };
  const values = proposedValuesOf(needs, entity.name, source);
  if (source === 'id') return { share: 1 / values, from: `each ${field} is one ${entity.name}` };
  const parent = needs.entities.find(({ name }) => words(`${name}Id`) === words(source));
  const relations = parent ? relationsOf(needs.requirements, { type: parent.name }, { type: entity.name }) : [];
  const most = Math.max(0, ...relations.map(({ max = 0 }) => max)) / Math.max(1, entity.count);
  return most > 2 / values
    ? { share: Math.min(1, most), from: `the largest ${field} has the most that the relationship allows` }
    : { share: Math.min(1, 2 / values), from: `the largest ${field} is taken for twice the average` };
}

/** The part of all documents that the largest logical partition has. */
export const largestOf = (needs: Needs, entity: Entity, key: string): number =>
  levelsOf(key).reduce((share, level) => share * proposedShareOf(needs, entity, level).share, 1);

/** Where the figure of `largestOf` is from. */
export const skewOf = (needs: Needs, entity: Entity, key: string): string =>
  levelsOf(key)
    .map((level) => proposedShareOf(needs, entity, level).from)
    .join(', ');

export const isRead = (kind: NeededAccess['kind']): boolean => kind === 'read' || kind === 'list' || kind === 'total';

export interface Overlap {
  /** Percent of the reads that need both, the parent alone, and the child alone. */
  readonly both: number;
  readonly parent: number;
  readonly child: number;
}

export function overlapOf({ accesses }: Needs, parent: Entity, child: Entity): Overlap {
  const field = parentField(parent, child);
  const rate = (of: readonly NeededAccess[]): number => of.reduce((sum, { average }) => sum + average, 0);
  const reads = accesses.filter(({ kind }) => isRead(kind));
  const whole = reads.filter(({ entity, withs }) => entity === parent.name && withs.includes(child.name));
  const own = reads.filter(({ entity, by }) => entity === child.name && by.includes(field));
  const alone = reads.filter(({ entity, by }) => entity === child.name && !by.includes(field));
  const parents = reads.filter((access) => access.entity === parent.name && !whole.includes(access));
  const all = Math.max(1e-9, rate([...whole, ...own, ...alone, ...parents]));
  const [a, b] = [Math.round((100 * rate(parents)) / all), Math.round((100 * rate(alone)) / all)];
  return { both: 100 - a - b, parent: a, child: b };
}

const isTime = (field: string): boolean => /^(day|date|month|year|hour)$|(At|Time|Day|Date)$/.test(field);

/** Whether an update may change a field of the group. */
const changes = ({ kind, entity, attributes }: NeededAccess, from: Entity, group: readonly string[]): boolean =>
  kind === 'update' &&
  entity === from.name &&
  (/\ball\b/i.test(attributes) || group.some((field) => new RegExp(String.raw`\b${field}\b`).test(attributes)));

/** The fields of the key of what is derived for a pattern. */
export function proposedGroupOf({ by }: NeededAccess, way: Way): readonly string[] {
  // A key that grows with time takes all writes at once, so a day comes last.
  const fields = by.toSorted((a, b) => Number(isTime(a)) - Number(isTime(b)));
  return way === 'aggregate' ? fields : fields.slice(0, 1);
}

/**
 * The entity in whose container copies of another one may be: it has the key of the copy, and its documents are kept as
 * long. They are written by a projection, so no request needs both, as documents beside each other do.
 */
export function hostOf(needs: Needs, choices: Choices, from: Entity, group: readonly string[]): Entity | undefined {
  const [key = 'id'] = group;
  return needs.entities.find(
    ({ name, keptSeconds }) =>
      key !== 'id' &&
      name !== homeOf(choices, from.name) &&
      homeOf(choices, name) === name &&
      !choices.embedded.includes(name) &&
      proposedKeyOf(choices, name) === key &&
      keptSeconds === from.keptSeconds,
  );
}

/** The copies and aggregates of these choices: reads by the same fields share one. */
export function derivedOf(needs: Needs, choices: Choices): ProposedDerived[] {
  const derived = new Map<string, ProposedDerived>();
  for (const access of needs.accesses) {
    const way = choices.ways[access.id];
    const from = needs.entities.find(({ name }) => name === access.entity);
    if (!from || way === undefined || way === 'base') continue;
    const group = proposedGroupOf(access, way);
    const suffix = group.map(upper).join('').replaceAll('Id', '');
    const container = `${way === 'aggregate' ? `${upper(from.name)}Totals` : proposedContainerOf(from)}By${suffix}`;
    const host = way === 'beside' ? hostOf(needs, choices, from, group) : undefined;
    const before = derived.get(container);
    derived.set(container, {
      name: container.replaceAll(/(?<!^)(?=[A-Z])/g, '-').toLowerCase(),
      kind: way === 'aggregate' ? way : 'copy',
      type: lower(`${from.name}${way === 'aggregate' ? 'Total' : ''}By${suffix}`),
      from,
      container: host ? proposedContainerOf(host) : (before?.container ?? container),
      group,
      serves: [...(before?.serves ?? []), access],
      sums: [...new Set([...(before?.sums ?? []), ...access.sums])],
      stable: way === 'index' || !needs.accesses.some((update) => changes(update, from, group)),
    });
  }
  return [...derived.values()];
}
