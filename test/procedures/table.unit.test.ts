import { expect, it, onTestFinished } from 'vitest';
import { agoText, forTerminal, plural, textTable } from '../../src/procedures/table.ts';

it('a table of texts aligns texts to the left and numbers to the right', () => {
  const rows = [
    ['a', 1, 'x'],
    ['long', 12_345.678, ''],
  ] as const;
  expect(textTable(['name', 'n', 'note'], rows)).toBe('name          n  note\na             1  x\nlong  12,345.68');
});

it('a table for a terminal fits its width: cells of the widest columns are wrapped, after a space or a slash', () => {
  onTestFinished(() => forTerminal(Infinity));
  const head = ['name', 'into', 'n', 'why'];
  const rows = [['days', 'Containers/listed', 1_000, 'it was written 16 s ago']];
  forTerminal(42);
  expect(textTable(head, rows).split('\n')).toEqual([
    'name  into               n  why',
    'days  Containers/    1,000  it was written',
    '      listed                16 s ago',
  ]);
  const whole = 'name  into                   n  why\ndays  Containers/listed  1,000  it was written 16 s ago';
  for (const columns of [80, 20]) {
    forTerminal(columns);
    expect(textTable(head, rows)).toBe(whole);
  }
});

it('a plural counts', () => {
  expect([plural(0, 'lease'), plural(1, 'lease'), plural(2_000, 'lease')]).toEqual([
    '0 leases',
    '1 lease',
    '2,000 leases',
  ]);
});

it('a time is said by its age, and none by nothing', () => {
  const before = (seconds: number): string => agoText(new Date(Date.now() - 1_000 * seconds).toISOString());
  expect([before(-5), before(6.5 * 60), before(3 * 3_600 + 1), agoText(null)]).toEqual([
    '0 s ago',
    '6 min ago',
    '3 h ago',
    '',
  ]);
});
