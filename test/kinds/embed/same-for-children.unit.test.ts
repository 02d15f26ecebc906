import { expect, it } from 'vitest';
import type { Doc, EmbedSpec } from '../../../src/pipeline/specs.ts';
import { sameForChildren } from '../../../src/kinds/embed/same-for-children.ts';

const told = (set: EmbedSpec['set'], before: Doc | null, after: Doc | null): boolean =>
  sameForChildren(
    {
      kind: 'embed',
      name: 'e',
      version: 1,
      from: { container: 'P', type: 'p' },
      into: { container: 'C', type: 'c' },
      on: { id: 'p' },
      onDelete: 'remove',
      set,
    },
    before,
    after,
  );
const name = ({ name: value }: Doc): unknown => value;

it('what is the same for children two versions tell where only fields differ that no set reads', () => {
  expect(told({ name }, { name: 'a', stock: 1 }, { name: 'a', stock: 2 })).toBe(true);
  expect(told({ name }, { name: 'a', stock: 1 }, { name: 'b', stock: 1 })).toBe(false);
  expect(told({ name }, { stock: 1 }, { stock: 1, name: 'a' })).toBe(false);
  expect(told({ name }, { stock: 1 }, { stock: 1, name: null })).toBe(false);
  expect(told({ name }, { name: { first: 'a', last: 'b' } }, { name: { last: 'b', first: 'a' }, stock: 1 })).toBe(true);
});

it('a deletion is not the same for children, but the next one is', () => {
  expect(told({ name }, { name: 'a' }, null)).toBe(false);
  expect(told({ name }, null, { name: 'a' })).toBe(false);
  expect(told({ name }, null, null)).toBe(true);
});

it('the same for children is not known where a set looks at the child, in whatever way, unless nothing has changed at all', () => {
  const looking: Record<string, EmbedSpec['set'][string]> = {
    reads: (parent, child) => `${String(parent['name'])} ${String(child['count'])}`,
    spreads: (_parent, child) => ({ ...child }),
    asks: (_parent, child) => 'count' in child,
    returns: (_parent, child) => child,
    lists: (_parent, child) => Object.keys(child).length,
    hides: (_parent, child) => {
      try {
        return child['count'];
      } catch {
        return 0;
      }
    },
    branches: ({ special }, child) => (special === true ? child['count'] : 0),
  };
  for (const [way, value] of Object.entries(looking)) {
    expect([way, told({ value }, { special: false, stock: 1 }, { special: true, stock: 2 })]).toEqual([way, false]);
    expect([way, told({ value }, { stock: 1 }, { stock: 1, ttl: 5 })]).toEqual([way, true]);
  }
});

it('the same for children is not known where a set throws', () => {
  const value = ({ name: full }: Doc): unknown => (full as string).toUpperCase();
  expect(told({ value }, { name: 'a' }, { name: 1 })).toBe(false);
});
