import { expect, it } from 'vitest';
import { eachOnce } from '../../../src/operations/projections/over-shards.ts';
import { movedOwn } from '../../../src/projections/moved.ts';

const written = (n: number, at: number) => ({ id: 'o', pk: 'p', n, _ts: at });
const copied = (n: number, at: number) => {
  const { _ts, ...doc } = written(n, at);
  return { ...doc, _ts, _mr: movedOwn(undefined, { epoch: 1, lsn: 1 }, doc) };
};
const once = (...docs: Parameters<typeof eachOnce>[0]) => eachOnce(docs, ['/pk']).map(({ n }) => n);

it('of a document that two shards have, what someone wrote counts before a copy of a move, then the later one', () => {
  for (const of of [
    [written(2, 5), copied(1, 5)],
    [written(2, 5), copied(1, 6)],
    [written(2, 6), written(1, 5)],
    [copied(2, 6), copied(1, 5)],
    // Changed since a move wrote it.
    [{ ...copied(1, 5), n: 2 }, copied(1, 6)],
  ])
    expect([once(...of), once(...of.toReversed())]).toEqual([[2], [2]]);
  expect(once(written(1, 5), { ...written(2, 5), id: 'other' })).toEqual([1, 2]);
});
