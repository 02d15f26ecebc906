// How many documents of one type belong to one of another, by the requirements.
import type { Reference, Relationship, Requirements } from './documents.ts';

/** One form for a name that is written in different ways: `Order lines` and `orderLine`, `Classes` and `class`. */
export const words = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
    .replace(/ies$/, 'y')
    .replace(/(?<!s)s$/, '')
    // Of `classes`, `boxes` and `branches`, and so of `cache` too.
    .replace(/(?<=ss|x|ch|sh|z)e$/, '');

const namesOf = ({ container, type }: Partial<Reference>): string[] =>
  [words(type ?? ''), words(container ?? '')].filter((name) => name !== '');

/** The relationships of a parent to a child, each named by its type or its container. */
export function relationsOf(
  requirements: Requirements | undefined,
  parent: Partial<Reference>,
  child: Partial<Reference>,
): Relationship[] {
  const [parents, children] = [namesOf(parent), namesOf(child)];
  return (requirements?.relationships ?? []).filter(
    (of) =>
      of.many && parents.includes(words(of.parent)) && children.includes(words(of.child.split(/\s+as\s+/)[0] ?? '')),
  );
}

/** The average number of children, if it is stated. */
export const averageOf = (relations: readonly Relationship[]): number | undefined =>
  relations.find(({ average }) => average !== undefined)?.average;
