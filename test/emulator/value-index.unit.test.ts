// What an index counts and knows of single items is what it finds.
import { expect, it } from 'vitest';
import { StoredItem, LogicalPartition, StoredVersion } from '../../src/emulator/cosmos/storage/logical-partition.ts';
import { ValueIndex } from '../../src/emulator/cosmos/storage/value-index.ts';
import type { QueryBound } from '../../src/emulator/sql/restrictions.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';

const SEED = suiteSeed();
const VALUES = [null, true, 1, 2, 3, 'a', 'b', 'c'];

it(`an index of values counts and recognises the items that it finds, after any writes (seed ${SEED})`, () => {
  const random = new Random(SEED);
  const home = new LogicalPartition(['k'], '["k"]', '00');
  const truth = new Map<StoredItem, unknown>();
  const versionOf = (item: StoredItem, value: unknown): StoredVersion =>
    new StoredVersion(item, JSON.stringify(value === undefined ? {} : { v: value }).slice(0, -1), 'e', 1, 0, undefined);
  const items = Array.from({ length: 6_000 }, (_, n) => new StoredItem(`${n}`, home, n));
  for (const item of items) truth.set(item, random.chance(0.1) ? undefined : random.pick(VALUES));
  const index = new ValueIndex(
    ['v'],
    items.map((item) => versionOf(item, truth.get(item))),
  );
  for (let n = 0; n < 6_000; n++) {
    const item = random.pick(items);
    const value = random.chance(0.2) ? undefined : random.pick(VALUES);
    truth.set(item, value);
    index.update(item, random.chance(0.5) && value === undefined ? undefined : versionOf(item, value).doc);
  }
  const bounds: QueryBound[] = [
    ...VALUES.map((value) => ({ path: ['v'], values: [value] })),
    { path: ['v'], values: ['a', 3, 3, 'none'] },
    { path: ['v'], low: 2 },
    { path: ['v'], high: 'b' },
    { path: ['v'], low: 1, high: 2 },
    { path: ['v'], low: 'd' },
  ];
  for (const bound of bounds) {
    const found = new Set(index.find(bound));
    expect(index.count(bound)).toBe(found.size);
    for (const item of items) expect(index.has(item, bound)).toBe(found.has(item));
    const inOrder = [...found].toSorted((a, b) => a.seq - b.seq);
    const { values } = bound;
    const wanted = items.filter((item) => truth.get(item) !== undefined && values?.includes(truth.get(item)));
    expect(inOrder).toEqual(values ? wanted : inOrder);
  }
});
