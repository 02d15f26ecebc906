import { expect, it } from 'vitest';
import { innermost } from '../../../src/procedures/verify/difference.ts';

it('a difference names the smallest values that differ, and what one side lacks', () => {
  const row = { root: { status: 'paid', cents: '5' }, children: { lines: [{ sku: 'a' }, { sku: 'b' }] } };
  const stored = { root: { status: 'x', cents: '5' }, children: { lines: [{ sku: 'a' }, { sku: 'c', n: 1 }] } };
  expect(innermost(row, stored, 'row')).toEqual([
    ['row.root.status', 'paid', 'x'],
    ['row.children.lines.1.sku', 'b', 'c'],
    ['row.children.lines.1.n', undefined, 1],
  ]);
  expect(innermost(row, row, 'row')).toEqual([]);
  // Lists of another length have no elements to compare one by one.
  expect(innermost([1], [1, 2], 'tags')).toEqual([['tags', [1], [1, 2]]]);
  expect(innermost({ a: 1 }, undefined, 'total')).toEqual([['total', { a: 1 }, undefined]]);
});
