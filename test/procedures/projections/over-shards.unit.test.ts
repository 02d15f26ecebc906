import type { Database } from '@azure/cosmos';
import { expect, it } from 'vitest';
import { HomeDocuments } from '../../../src/procedures/verify/reading/home-shards.ts';
import type { Doc } from '../../../src/pipeline/specs.ts';
import { movedOwn } from '../../../src/kinds/moved.ts';

const written = (n: number, at: number) => ({ id: 'o', pk: 'p', n, _ts: at });
const copied = (n: number, at: number) => {
  const { _ts, ...doc } = written(n, at);
  return { ...doc, _ts, _mr: movedOwn(undefined, { epoch: 1, lsn: 1 }, doc) };
};
const once = (...docs: Doc[]) => new HomeDocuments(() => undefined).eachOnce(docs, ['/pk']).map(({ n }) => n);

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

it('where the map has the key, the document of its shard counts, however late the other one was written', () => {
  const [home, other] = [{ id: 'home' } as Database, { id: 'other' } as Database];
  for (const at of [4, 5, 6])
    for (const left of [written(1, at), copied(1, at)]) {
      const homes = new HomeDocuments((_, __, database) => database === home);
      const there = written(2, 5);
      homes.note('Orders', there, home);
      homes.note('Orders', left, other);
      expect(homes.eachOnce([there, left], ['/pk'])).toEqual([there]);
      expect(homes.eachOnce([left, there], ['/pk'])).toEqual([there]);
      // A late write that the shard of the map doesn't have.
      expect(homes.eachOnce([left], ['/pk'])).toEqual([left]);
    }
});
