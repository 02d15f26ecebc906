import { expect, it } from 'vitest';
import { withSweep } from '../../../src/host/dev/sweeps.ts';

const swept = (projection: string, read: number, archived: number, held: number) => ({
  projection,
  read,
  archived,
  removed: archived,
  bytes: 10 * archived,
  held,
  erased: 0,
  superseded: 0,
  complete: true,
  undated: 0,
  refused: 0,
  stayed: [],
  blocked: 0,
  faults: [],
});

it('a run’s sweeps add up what they moved, and leave what stays to the last', () => {
  const first = withSweep([], [swept('a@1', 100, 70, 5), swept('b@1', 10, 0, 0)]);
  expect(withSweep(first, [swept('a@1', 30, 3, 2), swept('b@1', 10, 1, 0)])).toEqual([
    swept('a@1', 30, 73, 2),
    swept('b@1', 10, 1, 0),
  ]);
});
