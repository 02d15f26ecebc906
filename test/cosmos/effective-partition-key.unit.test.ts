import { describe, expect, test } from 'vitest';
import { effectivePartitionKey, evenBoundaries } from '../../src/cosmos/effective-partition-key.ts';
import type { KeyPart } from '../../src/cosmos/effective-partition-key.ts';
import vectors from './epk-vectors.json' with { type: 'json' };

const single = vectors.single as { key: KeyPart; v1: string; v2: string }[];

describe('effective partition keys', () => {
  test.each(single)('effective partition keys of %j are those of the JavaScript client', ({ key, v1, v2 }) => {
    // JSON has no minus zero: the vectors write it as text.
    const value = key === '-0' ? -0 : key;
    expect(effectivePartitionKey([value], 'Hash', 2)).toBe(v2);
    expect(effectivePartitionKey([value], 'Hash', 1)).toBe(v1);
  });

  test.each(vectors.multi as { key: KeyPart[]; multihash: string }[])(
    'effective partition keys of the hierarchical %j are those of the JavaScript client too',
    ({ key, multihash }) => {
      expect(effectivePartitionKey(key, 'MultiHash', 2)).toBe(multihash);
      const prefix = effectivePartitionKey(key.slice(0, 1), 'MultiHash', 2);
      expect(multihash.startsWith(prefix)).toBe(true);
    },
  );

  test('a missing field hashes as the wire’s empty object', () => {
    expect(effectivePartitionKey([undefined], 'Hash', 2)).toBe(effectivePartitionKey([{}], 'Hash', 2));
  });

  test('a long key does not disturb the ones after it', () => {
    const before = effectivePartitionKey(['a'], 'Hash', 2);
    effectivePartitionKey(['é'.repeat(20_000)], 'Hash', 2);
    expect(effectivePartitionKey(['a'], 'Hash', 2)).toBe(before);
  });

  test('boundaries are ascending and even', () => {
    expect(evenBoundaries(1, 2)).toEqual([]);
    expect(evenBoundaries(2, 2)).toEqual(['20000000000000000000000000000000']);
    for (const version of [1, 2] as const) {
      const cuts = evenBoundaries(7, version);
      expect(cuts).toHaveLength(6);
      expect(cuts.toSorted()).toEqual(cuts);
    }
  });
});
