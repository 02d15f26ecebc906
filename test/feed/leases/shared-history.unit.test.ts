import { describe, expect, test } from 'vitest';
import { countOwn, parseShared, sharedAfter, sharedBySplit } from '../../../src/feed/leases/shared-history.ts';

describe('what the parts of a split have in common', () => {
  test('what the parts of a split have in common is divided among them, and what came after is each part’s own', () => {
    const shared = sharedBySplit([], 100, 2);
    expect(countOwn(1, 100, shared)).toBe(50);
    expect(countOwn(1, 110, shared)).toBe(60);
    expect(countOwn(91, 110, shared)).toBe(15);
    expect(countOwn(100, 100, shared), 'a change that is left counts').toBe(1);
    expect(countOwn(101, 110, shared)).toBe(10);
    expect(countOwn(1, 110)).toBe(110);
  });

  test('what the parts of a split have in common is divided further by a second split, before the first history was read or after', () => {
    const twice = sharedBySplit(sharedBySplit([], 100, 2), 140, 2);
    expect(twice).toEqual([
      { lsn: 100, parts: 4 },
      { lsn: 140, parts: 2 },
    ]);
    expect(countOwn(1, 150, twice)).toBe(25 + 20 + 10);
    expect(countOwn(121, 150, twice)).toBe(10 + 10);
    expect(sharedBySplit([{ lsn: 100, parts: 2 }], 100, 3), 'nothing was written in between').toEqual([
      { lsn: 100, parts: 6 },
    ]);
    expect(sharedAfter(twice, '"99"')).toEqual(twice);
    expect(sharedAfter(twice, '"100"')).toEqual([{ lsn: 140, parts: 2 }]);
    expect(sharedAfter(twice, '"140"')).toEqual([]);
  });

  test('what the parts of a split have in common where the end of the parts isn’t known is nothing new', () => {
    expect(sharedBySplit([], -1, 2)).toEqual([]);
  });

  test('what the parts of a split have in common is read from a document only where it is whole', () => {
    const whole = [
      { lsn: 100, parts: 4 },
      { lsn: 140, parts: 2 },
    ];
    expect(parseShared(whole)).toEqual(whole);
    for (const damaged of [
      undefined,
      'x',
      [],
      [{ lsn: 1 }],
      [{ lsn: 1.5, parts: 2 }],
      [{ lsn: 1, parts: 0 }],
      [...whole, { lsn: 140, parts: 2 }],
    ])
      expect(parseShared(damaged)).toBeUndefined();
  });
});
