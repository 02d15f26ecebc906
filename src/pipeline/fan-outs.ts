// The cost of updating the copies of a joined document, from figures in the modelling documents.
import type { ContainerDetail, ProjectionRow, Reference } from '../model/documents.ts';
import { updatesOf } from '../model/load.ts';
import { relationsOf } from '../model/relations.ts';
import { type Access, type Facts, sum } from '../model/rules/facts.ts';

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
    const rows = updatesOf(facts, of);
    const relations = relationsOf(facts.requirements, of, row.source ?? {});
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
