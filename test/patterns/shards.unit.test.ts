import { describe, expect, it } from 'vitest';
import { compareRanks, orderText, rankOf } from '../../src/patterns/order.ts';
import { shardedKey } from '../../src/patterns/index.ts';

describe('a sharded key', () => {
  it('a sharded key by hash is the same for the same text, and spreads others evenly', () => {
    const key = shardedKey({ shards: 8, by: 'hash' });
    const counts = new Map<string, number>();
    for (let n = 0; n < 8_000; n++) {
      const suffix = key.suffix(`order-${n}`);
      expect(key.suffix(`order-${n}`)).toBe(suffix);
      counts.set(suffix, (counts.get(suffix) ?? 0) + 1);
    }
    expect([...counts.keys()].toSorted()).toEqual(['.0', '.1', '.2', '.3', '.4', '.5', '.6', '.7']);
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(150);
  });

  it('a sharded key by time takes the shards in turn, a step each', () => {
    const key = shardedKey({ shards: 3, by: 'time', everyMs: 1_000 });
    const at = (second: number) => key.suffix(new Date(1_700_000_001_000 + second * 1_000));
    expect([0, 1, 2, 3].map(at)).toEqual([at(0), at(1), at(2), at(0)]);
    expect(new Set([at(0), at(1), at(2)]).size).toBe(3);
    expect(key.suffix('2026-11-21T10:00:00.999Z')).toBe(key.suffix('2026-11-21T10:00:00.001Z'));
  });

  it('a sharded key is asked for as many shards as there ever were, whether it grew or shrank', () => {
    const grown = shardedKey({ shards: 4, by: 'hash', formerly: [2] });
    const shrunk = shardedKey({ shards: 2, by: 'hash', formerly: [4, 3] });
    expect(grown.all('p')).toEqual(['p.0', 'p.1', 'p.2', 'p.3']);
    expect(shrunk.all('p')).toEqual(grown.all('p'));
    for (let n = 0; n < 100; n++) {
      const [now, ...before] = grown.candidates('p', `id${n}`);
      expect(now).toBe(grown.keyOf('p', `id${n}`));
      const former = shardedKey({ shards: 2, by: 'hash' }).keyOf('p', `id${n}`);
      expect([now, ...before]).toContain(former);
    }
  });

  it.each([
    [{ shards: 0, by: 'hash' as const }],
    [{ shards: 2.5, by: 'hash' as const }],
    [{ shards: 2, by: 'hash' as const, formerly: [-1] }],
    [{ shards: 2, by: 'day' as 'time' }],
    [{ shards: 2, by: 'time' as const, everyMs: 0 }],
  ])('a sharded key refuses %j', (options) => {
    expect(() => shardedKey(options)).toThrow(expect.objectContaining({ code: 'option-invalid' }));
  });

  it('a sharded key refuses what it can take no shard of', () => {
    expect(() => shardedKey({ shards: 2, by: 'hash' }).suffix(new Date())).toThrow(/got a date/);
    expect(() => shardedKey({ shards: 2, by: 'time' }).suffix('yesterday')).toThrow(/not a date/);
  });
});

describe('the order', () => {
  it('the order goes by type, then by value, in the direction of each term', () => {
    const terms = [{ path: '/a' }, { path: '/b/c', descending: true }];
    expect(orderText(terms)).toBe('c["a"] ASC, c["b"]["c"] DESC');
    const rank = (a: unknown, c: unknown) => rankOf({ ...(a === undefined ? {} : { a }), b: { c } }, terms);
    const sorted = [
      rank(undefined, 1),
      rank(null, 1),
      rank(false, 1),
      rank(true, 1),
      rank(2, 1),
      rank(10, 2),
      rank(10, 1),
      rank('10', 1),
      rank([], 1),
      rank({}, 1),
    ];
    for (const [index, one] of sorted.entries())
      for (const [at, other] of sorted.entries())
        expect(Math.sign(compareRanks(one, other, terms))).toBe(Math.sign(index - at));
  });

  it.each(['a', '/', '/a"]', '/a//b', '/a b'])('the order refuses the path %s', (path) => {
    expect(() => orderText([{ path }])).toThrow(expect.objectContaining({ code: 'option-invalid' }));
    expect(() => orderText([])).toThrow(/has no path/);
  });
});
