import type { SweepResult } from '../../archive/types.ts';

/** The total of a run's sweeps. Moved documents and bytes are added up; the other figures are those of the last sweep. */
export const withSweep = (before: readonly SweepResult[], last: readonly SweepResult[]): SweepResult[] =>
  last.map((of) => {
    const earlier = before.find(({ projection }) => projection === of.projection);
    if (!earlier) return of;
    return {
      ...of,
      archived: earlier.archived + of.archived,
      removed: earlier.removed + of.removed,
      bytes: earlier.bytes + of.bytes,
    };
  });
