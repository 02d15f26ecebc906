import type { SweepResult } from '../../archive/types.ts';
import { type Sweeping, sweep } from '../../procedures/archive/sweep.ts';
import { placesOf } from '../../runtime/places.ts';

/** Sweeps in every place of a pipeline; of an archive in the shards, the figures of all shards are added up. */
export async function sweepPlaces(options: Sweeping): Promise<SweepResult[]> {
  const results = new Map<string, SweepResult>();
  for (const { loaded, open } of await placesOf(options).list()) {
    if (loaded.pipeline.archives.length === 0) continue;
    for (const one of await sweep({ ...options, ...(await open()) }))
      results.set(one.projection, added(results.get(one.projection), one));
  }
  return [...results.values()];
}

function added(before: SweepResult | undefined, one: SweepResult): SweepResult {
  if (!before) return one;
  const sum = (name: NumberOf): number => before[name] + one[name];
  return {
    projection: one.projection,
    read: sum('read'),
    complete: before.complete && one.complete,
    archived: sum('archived'),
    removed: sum('removed'),
    bytes: sum('bytes'),
    blocked: sum('blocked'),
    held: sum('held'),
    erased: sum('erased'),
    superseded: sum('superseded'),
    undated: sum('undated'),
    refused: sum('refused'),
    stayed: [...before.stayed, ...one.stayed],
    faults: [...before.faults, ...one.faults],
  };
}

type NumberOf = { [K in keyof SweepResult]: SweepResult[K] extends number ? K : never }[keyof SweepResult];

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
