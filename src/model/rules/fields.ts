// The fields of a container's documents, by examples and by declarations.
import type { ContainerDetail } from '../documents.ts';
import type { SourceLine } from '../model.ts';
import { declaredOf } from './declared.ts';
import { type Facts, examplesIn } from './facts.ts';

export interface Field {
  readonly field: string;
  readonly at: SourceLine;
}

/** Fields of a container by its examples and declarations, each once, with its line. Several rules ask for them. */
export function fieldsOf(facts: Facts, detail: ContainerDetail): readonly Field[] {
  const known = read.get(detail);
  if (known) return known;
  const { container } = detail;
  const fields = new Map<string, Field>();
  for (const one of examplesIn(container))
    for (const field of Object.keys(one))
      if (!fields.has(field)) fields.set(field, { field, at: facts.field(one, field, container.at) });
  for (const { field, at } of facts.design ? declaredOf(facts.design, detail) : [])
    if (!fields.has(field)) fields.set(field, { field, at });
  const found = [...fields.values()];
  read.set(detail, found);
  return found;
}

const read = new WeakMap<ContainerDetail, readonly Field[]>();

/** Whether a query filters by the field. Then a rule about queries judges it. */
export const isAsked = (facts: Facts, detail: ContainerDetail, field: string): boolean =>
  facts.asked(detail).some(({ queries }) => queries.some(({ filters }) => filters.includes(field)));
