import type { SweepResult } from '../../archive/types.ts';

/** What a run's sweeps came to: what they moved adds up, and what is left is as the last of them found it. */
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
