import { describe, expect, it } from 'vitest';
import type { TableLayout } from '../../../src/pipeline/tables/layout.ts';
import { momentOf } from '../../../src/model/moments.ts';
import { decimal, rowsOf } from '../../../src/pipeline/tables/rows.ts';

const LAYOUT: TableLayout = {
  projection: 'orders',
  version: 1,
  name: 'orders',
  movable: false,
  tenant: { name: 'store_id', path: '/storeId', from: 0, type: 'text' },
  identity: [
    { name: 'store_id', path: '/storeId', from: 0, type: 'text' },
    { name: 'id', path: '/id', from: 'id', type: 'text' },
  ],
  columns: [
    { name: 'cents', field: 'cents', type: 'bigint' },
    { name: 'rate', field: 'rate', type: 'numeric' },
    { name: 'ratio', field: 'ratio', type: 'double precision' },
    { name: 'at', field: 'at', type: 'timestamptz' },
    { name: 'day', field: 'day', type: 'date' },
    { name: 'paid', field: 'paid', type: 'boolean' },
    { name: 'note', field: 'note', type: 'text' },
    { name: 'more', field: 'more', type: 'jsonb' },
    { name: 'extra', type: 'jsonb' },
  ],
  extra: 'keep',
  children: [
    {
      name: 'order_lines',
      field: 'lines',
      scalar: false,
      key: 'sku',
      columns: [
        { name: 'position', type: 'integer' },
        { name: 'sku', field: 'sku', type: 'text' },
        { name: 'quantity', field: 'quantity', type: 'bigint' },
      ],
      extra: 'refuse',
    },
  ],
  references: [],
  foreignKeys: [],
  unique: [],
  passed: ['type', 'storeId', 'id'],
};
const doc = (more: object) => ({ id: 'o1', storeId: 's1', type: 'order', ...more });

describe('a document’s rows', () => {
  it('a column holds or refuses: every value as it is', () => {
    const rows = rowsOf(
      LAYOUT,
      doc({
        cents: 9_007_199_254_740_991,
        rate: 19.99,
        ratio: 0.1,
        at: '2026-03-29T01:30:00.5+02:00',
        day: '2024-02-29',
        paid: false,
        note: '',
        more: { z: [1, null] },
        other: 'x',
        lines: [{ sku: 'b', quantity: 2 }, { sku: 'a' }],
      }),
    );
    expect(rows).toEqual({
      root: {
        store_id: 's1',
        id: 'o1',
        cents: '9007199254740991',
        rate: '19.99',
        ratio: 0.1,
        at: '2026-03-28T23:30:00.500000Z',
        day: '2024-02-29',
        paid: false,
        note: '',
        more: { z: [1, null] },
        extra: { other: 'x' },
      },
      children: {
        order_lines: [
          { position: '0', sku: 'b', quantity: '2' },
          { position: '1', sku: 'a', quantity: null },
        ],
      },
    });
  });

  it.each([
    ['an integer over 2^53', { cents: 9_007_199_254_740_992 }, '/cents'],
    ['a fraction of a cent', { cents: 0.5 }, '/cents'],
    ['a text for a number', { cents: '5' }, '/cents'],
    ['U+0000 in a text', { note: 'a\u0000b' }, '/note'],
    ['half a character', { note: '\ud800' }, '/note'],
    ['U+0000 deep in JSON', { more: { a: [{ b: '\u0000' }] } }, '/more/a/0/b'],
    ['an integer over 2^53 deep in JSON', { more: { a: [2 ** 60] } }, '/more/a/0'],
    ['U+0000 in a field of no column', { other: { 'a/b': '\u0000' } }, '/other/a~1b'],
    ['a date that doesn’t exist', { at: '2026-02-31T00:00:00Z' }, '/at'],
    ['a date out of range', { at: '0000-01-01T00:00:00Z' }, '/at'],
    ['a moment without a time zone', { at: '2026-03-01T10:00:00' }, '/at'],
    ['a leap second', { at: '2016-12-31T23:59:60Z' }, '/at'],
    ['a hundred nanoseconds', { at: '2026-03-01T10:00:00.1234567Z' }, '/at'],
    ['a day that doesn’t exist', { day: '2026-02-29' }, '/day'],
    ['a list that isn’t one', { lines: 'x' }, '/lines'],
    ['an element that is no object', { lines: [1] }, '/lines/0'],
    ['two elements with one key', { lines: [{ sku: 'a' }, { sku: 'a' }] }, '/lines/1'],
    ['an element without its key', { lines: [{ quantity: 1 }] }, '/lines/0'],
    ['a value of an element', { lines: [{ sku: 'a', quantity: 'x' }] }, '/lines/0/quantity'],
    ['a field of an element that has no column', { lines: [{ sku: 'a', colour: 'red' }] }, '/lines/0/colour'],
    ['no tenant', { storeId: null }, '/storeId'],
  ])('a column holds or refuses: %s is parked with its path', (_, more, path) => {
    expect(() => rowsOf(LAYOUT, doc(more))).toThrow(
      expect.objectContaining({ message: expect.stringMatching(`^${path} `) }),
    );
  });

  it('a list of scalars has rows in a child table', () => {
    const tags = {
      name: 'order_tags',
      field: 'tags',
      scalar: true,
      key: 'position',
      columns: [
        { name: 'position', type: 'integer' },
        { name: 'value', field: 'value', type: 'text' },
      ],
      extra: 'refuse',
    } as const;
    const rows = rowsOf({ ...LAYOUT, children: [tags] }, doc({ tags: ['a', 'a'] }));
    expect(rows.children['order_tags']).toEqual([
      { position: '0', value: 'a' },
      { position: '1', value: 'a' },
    ]);
  });

  it('a row has numbers as PostgreSQL gives them back', () => {
    const numbers = [0, -0, 1, -1.5, 5e-7, 1.25e-10, 1e21, 1.5e22, -2.5e-9, 0.1, 1e300];
    for (const number of numbers) expect(Number(decimal(number))).toBe(number === 0 ? 0 : number);
    expect(numbers.map(decimal).filter((text) => /e/.test(text))).toEqual([]);
    expect(decimal(5e-7)).toBe('0.0000005');
    expect(decimal(1.5e22)).toBe('15000000000000000000000');
  });

  it('a row keeps a moment’s microseconds', () => {
    expect(momentOf('2026-03-01T10:15:00.123456Z')).toEqual({ utc: '2026-03-01T10:15:00.123456Z' });
    expect(momentOf('2026-03-01T10:15Z')).toEqual({ utc: '2026-03-01T10:15:00.000000Z' });
    expect(momentOf('2026-03-01T10:15:00.1234560Z')).toEqual({ utc: '2026-03-01T10:15:00.123456Z' });
  });
});
