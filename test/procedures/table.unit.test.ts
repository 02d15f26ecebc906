import { expect, it } from 'vitest';
import { plural, textTable } from '../../src/procedures/table.ts';

it('a table of texts aligns texts to the left and numbers to the right', () => {
  const rows = [
    ['a', 1, 'x'],
    ['long', 12_345.678, ''],
  ] as const;
  expect(textTable(['name', 'n', 'note'], rows)).toBe('name          n  note\na             1  x\nlong  12,345.68');
});

it('a plural counts', () => {
  expect([plural(0, 'lease'), plural(1, 'lease'), plural(2_000, 'lease')]).toEqual([
    '0 leases',
    '1 lease',
    '2,000 leases',
  ]);
});
