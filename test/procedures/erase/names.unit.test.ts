import { expect, test } from 'vitest';
import { isNamed, namesIn, renamed } from '../../../src/procedures/erase/names.ts';

const text = (tenant: string): RegExp => namesIn({ tenant, rule: { field: 'storeId', kind: 'string' } });
const number = namesIn({ tenant: '7', rule: { field: 'storeId', kind: 'number' } });

test('a search for a tenant finds a tenant as a word of its own, at any depth, in texts and names', () => {
  const names = text('store-1');
  for (const value of [
    'store-1',
    'order-store-1-7',
    ['a', { b: ['of store-1.'] }],
    { 'store-1': 0 },
    '["Orders",["store-1"]]',
  ])
    expect(isNamed(value, names)).toBe(true);
  for (const value of ['store-10', 'xstore-1', 'Store-1', 1, null, true, 'éstore-1'])
    expect(isNamed(value, names)).toBe(false);
});

test('a search for a tenant finds a tenant with characters that JSON or an expression escapes', () => {
  const names = text('a"b\\(.*)');
  expect(isNamed('a"b\\(.*)', names)).toBe(true);
  expect(isNamed(JSON.stringify(['a"b\\(.*)']), names)).toBe(true);
  expect(isNamed('a"b(x)', names)).toBe(false);
});

test('a tenant that is a number is named by the whole text alone', () => {
  expect(isNamed({ tenant: '7' }, number)).toBe(true);
  expect(isNamed({ text: 'the 7 of 2026-07-07', cents: 7 }, number)).toBe(false);
});

test('the replacement of names writes another name in place of the tenant’s', () => {
  const given = { tenant: 'store-1', result: ['store-10', { 'store-1': 'of store-1' }], count: 1, none: null };
  expect(renamed(given, text('store-1'), 'erased')).toEqual({
    tenant: 'erased',
    result: ['store-10', { erased: 'of erased' }],
    count: 1,
    none: null,
  });
});
