import { array, assert, integer, property } from 'fast-check';
import { expect, it } from 'vitest';
import { overShare } from '../../../src/engine/deferred/over-share.ts';

const over = (held: Record<string, number>, most: number): string[] => overShare(new Map(Object.entries(held)), most);

it('the share of a window names no tenant while the window has room', () => {
  expect(over({ a: 99 }, 100)).toEqual([]);
});

it('the share of a window names a tenant that has most of a full window, alone or beside others', () => {
  expect(over({ a: 100 }, 100)).toEqual(['a']);
  expect(over({ a: 99, b: 1 }, 100)).toEqual(['a']);
  expect(over({ a: 60, b: 40 }, 100)).toEqual([]);
  expect(over({ a: 45, b: 45, c: 5, d: 5 }, 100)).toEqual(['a', 'b']);
});

it('the share of a window names none where all have about as many', () => {
  assert(
    property(integer({ min: 2, max: 50 }), integer({ min: 20, max: 1_000 }), (tenants, each) => {
      const held = new Map(Array.from({ length: tenants }, (_, at) => [`t${at}`, each]));
      expect(overShare(held, each * tenants)).toEqual([]);
    }),
  );
});

it('the share of a window names at most half of the tenants and one, and never one that has less than another that it leaves out', () => {
  const counts = array(integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 40 });
  assert(
    property(counts, (all) => {
      const held = new Map(all.map((count, at) => [`t${at}`, count]));
      const most = all.reduce((sum, count) => sum + count, 0);
      const named = new Set(overShare(held, most));
      expect(named.size).toBeLessThanOrEqual(Math.min(16, (held.size + 1) / 2));
      const least = Math.min(...[...named].map((tenant) => held.get(tenant)!));
      const others = [...held].filter(([tenant]) => !named.has(tenant)).map(([, count]) => count);
      expect(Math.max(0, ...others)).toBeLessThan(least);
    }),
  );
});
