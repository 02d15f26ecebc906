// The cost of updating the copies of a joined document, from figures in the modelling documents.
import type { ContainerDetail, ProjectionRow, Reference } from '../model/documents.ts';
import { type Access, type Facts, sum } from '../model/rules/facts.ts';

/** One form for a name that is written in different ways: `Order lines` and `orderLine`. */
export const words = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '')
    .replace(/ies$/, 'y')
    .replace(/s$/, '');

export interface FanOut {
  readonly of: Reference;
  /** Updates of the joined type, a second at the peak. */
  readonly updates: number;
  /** Largest number of copies that hold one joined document; undefined: not stated. */
  readonly copies: number | undefined;
  /** RU to refresh one copy. */
  readonly ru: number;
  readonly rows: readonly Access[];
}

/** For each joined type of a projection: the updates of its documents, and the copies that each update writes. */
export function fanOuts(facts: Facts, row: ProjectionRow, sink: ContainerDetail): FanOut[] {
  return row.joins.flatMap((of): FanOut[] => {
    const joined = facts.detail(of.container);
    if (!joined) return [];
    const writes = facts.accesses.filter(
      ({ detail, row: { operations } }) =>
        detail === joined &&
        operations.some((operation) => operation === 'replace' || operation === 'upsert' || operation === 'patch'),
    );
    const named = writes.filter(({ pattern, row: { notes } }) =>
      new RegExp(String.raw`\b${of.type ?? ''}`, 'i').test(`${pattern?.description ?? ''} ${notes}`),
    );
    const rows = named.length > 0 ? named : writes;
    const relations = (facts.requirements?.relationships ?? []).filter(
      ({ parent, child, many }) =>
        many &&
        [words(of.type ?? ''), words(of.container)].includes(words(parent)) &&
        [words(row.source?.type ?? ''), words(row.source?.container ?? '')].some(
          (name) => name !== '' && words(child.split(/\s+as\s+/)[0] ?? '') === name,
        ),
    );
    const maxima = relations.flatMap(({ max }) => (max === undefined ? [] : [max]));
    return [
      {
        of,
        rows,
        updates: sum(rows.map(({ peak }) => peak ?? 0)),
        copies: maxima.length > 0 ? sum(maxima) : undefined,
        ru: facts.estimate('replace', sink),
      },
    ];
  });
}
