// Documents for one pattern of a workload: as many to a value of a field as the pattern finds by it, and none more, because
// the server has no index that is sorted by two fields and loads all that an ORDER BY sorts.
import { parentOf, parentField, proposedCountOf, proposedRowsOf } from '../../src/model/propose/design.ts';
import type { NeededAccess, Entity, Needs } from '../../src/model/propose/needs.ts';

export type Doc = Readonly<Record<string, unknown>> & { readonly id: string };
export type Data = ReadonlyMap<string, readonly Doc[]>;

/** Values of each field. */
const GROUPS = 5;
/** A list that may be embedded. */
const SOME = 100;

export function dataOf(needs: Needs, access: NeededAccess): Data {
  return new Map(
    needs.entities.map((entity) => {
      const sizes = groupsOf(needs, entity, access);
      const count = howMany(needs, entity, access);
      return [entity.name, Array.from({ length: count }, (_, at) => docOf(needs, entity, sizes, at))];
    }),
  );
}

/** Some values of each field, and children for each parent. */
function howMany(needs: Needs, entity: Entity, access: NeededAccess): number {
  const sizes = groupsOf(needs, entity, access);
  const parent = parentOf(needs, entity);
  const children = parent ? howMany(needs, parent, access) * (sizes.get(parentField(parent, entity)) ?? 0) : 0;
  return Math.max(children, ...[1, ...sizes.values()].map((size) => GROUPS * size));
}

/** Field → how many documents have one value of it. */
function groupsOf(needs: Needs, entity: Entity, access: NeededAccess): Map<string, number> {
  const sizes = new Map<string, number>();
  const parent = parentOf(needs, entity);
  const family = [entity.name, parent?.name].includes(access.entity);
  // An element is read and written with all the others of its parent.
  if (parent && family) {
    const average = proposedCountOf(needs, parent, entity);
    if (access.withs.includes(entity.name) || average <= SOME) sizes.set(parentField(parent, entity), average);
  }
  if (entity.name !== access.entity || access.by.includes('id') || !['list', 'total'].includes(access.kind))
    return sizes;
  // The values of all fields change together, so each of several fields leaves as many as all of them.
  for (const field of access.by) sizes.set(field, proposedRowsOf(needs, access));
  return sizes;
}

function docOf({ entities, accesses }: Needs, entity: Entity, sizes: ReadonlyMap<string, number>, at: number): Doc {
  const summed = new Set(accesses.flatMap(({ entity: name, sums }) => (name === entity.name ? sums : [])));
  const fields = entity.fields.map(({ name }): [string, unknown] => {
    if (name === 'id') return [name, idOf(entity, at)];
    const group = Math.floor(at / (sizes.get(name) ?? 1));
    const referred = entities.find((one) => `${one.name}Id`.toLowerCase() === name.toLowerCase());
    if (referred) return [name, idOf(referred, group)];
    if (summed.has(name) || /points|quantity|cents/.test(name)) return [name, at];
    return [name, `${name}-${String(group).padStart(6, '0')}`];
  });
  const doc = Object.fromEntries(fields);
  return {
    ...doc,
    id: idOf(entity, at),
    filler: 'x'.repeat(Math.max(0, entity.bytes - JSON.stringify(doc).length - 40)),
  };
}

export const idOf = ({ name }: Entity, at: number): string => `${name.toLowerCase()}-${at}`;
