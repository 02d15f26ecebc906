// The examples of a proposed document: invented values of the kinds that the fields' names say.
import {
  type Choices,
  type ProposedDerived,
  proposedChildrenOf,
  proposedContainerOf,
  proposedKeyOf,
  levelsOf,
  lower,
  proposedSourceOf,
} from './design.ts';
import type { Entity, Needs } from './needs.ts';

export function exampleOf(needs: Needs, choices: Choices, entity: Entity, at: number): Record<string, unknown> {
  const own = Object.fromEntries(entity.fields.map(({ name }) => [name, valueOf(needs, entity, name, at)]));
  const children = proposedChildrenOf(needs, choices, entity).map((child) => [
    lower(proposedContainerOf(child)),
    [Object.fromEntries(child.fields.map(({ name }) => [name, valueOf(needs, child, name, at)]))],
  ]);
  // A parent beside its children carries its own id under the name that they have for it.
  const levels = levelsOf(proposedKeyOf(choices, entity.name)).flatMap((level) => {
    const source = proposedSourceOf(entity, level);
    return source === undefined || source === level ? [] : [[level, own[source]]];
  });
  return {
    id: own['id'],
    type: lower(entity.name),
    ...own,
    ...Object.fromEntries(levels),
    ...Object.fromEntries(children),
  };
}

function valueOf({ entities, accesses }: Needs, entity: Entity, field: string, at: number): unknown {
  if (field === 'id') return `${lower(entity.name)}-${at}`;
  const referred = entities.find(({ name }) => field.toLowerCase() === `${name.toLowerCase()}id`);
  if (referred) return `${lower(referred.name)}-${at}`;
  if (/(At|Time)$/.test(field)) return `2026-01-0${at}T10:00:00Z`;
  if (/^(day|date)$|Da(y|te)$/.test(field)) return `2026-01-0${at}`;
  const summed = accesses.some(({ sums, entity: name }) => name === entity.name && sums.includes(field));
  return summed || /cents|count|quantity|amount|price|number|score|total$/i.test(field) ? 100 * at : `${field}-${at}`;
}

export function derivedExamples(
  needs: Needs,
  choices: Choices,
  { from, type, kind, group, sums }: ProposedDerived,
): Record<string, unknown>[] {
  return [1, 2].map((at) => {
    const source = exampleOf(needs, choices, from, at);
    if (kind === 'copy') return { ...source, type };
    const fields = Object.fromEntries(group.map((field) => [field, source[field]]));
    const parts = Object.keys(fields)
      .toSorted()
      .map((field) => String(fields[field]));
    return {
      id: [type, ...parts].join('|'),
      type,
      ...fields,
      documents: 1,
      ...Object.fromEntries(sums.map((field) => [field, source[field]])),
    };
  });
}
