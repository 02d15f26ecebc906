import { expect, test } from 'vitest';
import { expressionOf } from '../../src/contract/expression.ts';
import { contractWordsOf } from '../../src/contract/filters.ts';
import type { Edit } from '../model/rules/base.ts';
import { check } from './shop.ts';

test('words of other forms are skipped', () => {
  const said = (...edits: Edit[]) => check(edits).findings.filter(({ rule }) => rule === 'G16');
  for (const fields of [
    'type, placedAt; customer.name',
    'all of the order; customer.name',
    'id, the day it was placed; customer.name',
  ])
    expect(said(['customer.name → customerName', `${fields} → customerName`])).toEqual([]);
  for (const measure of ['sum(cents of its lines)', 'sum(status = paid)', 'sum of all'])
    expect(said(['cents = sum(cents)', `cents = ${measure}`])).toEqual([]);
  for (const words of [' not yet billed', ' in batches of 100', ', one per store', ' since 2020'])
    expect(said(['| days | aggregate | Orders (order)', `| days | aggregate | Orders (order)${words}`])).toEqual([]);
});

test.each([
  ['totalCents', 7],
  ['quantity × totalCents + 1', 15],
  ['totalCents ≥ 7', 1],
  ['totalCents > 7', 0],
  ['quantity − totalCents ÷ 2', -1.5],
  ['1,000 × quantity', 2000],
  ['missing × 2', undefined],
])('the expression %s', (text, value) => {
  const fields: Record<string, unknown> = { totalCents: 7, quantity: 2 };
  expect(expressionOf(text)?.valueOf((field) => fields[field])).toBe(value);
});

test.each(['', 'the price', '3', 'a +', 'a (b)', 'a, b'])('"%s" is no expression', (text) => {
  expect(expressionOf(text)).toBeUndefined();
});

test.each([
  ['Orders (order)', { condition: undefined, other: false }],
  [
    'Orders (order) not cancelled, each line',
    { condition: { text: 'not cancelled', values: ['cancelled'], not: true }, each: true, other: false },
  ],
  [
    'Orders (order) in status placed, paid or packed',
    { condition: { field: 'status', values: ['placed', 'paid', 'packed'], not: false }, other: false },
  ],
  [
    'Orders (order) where status = paid',
    { condition: { field: 'status', values: ['paid'], not: false }, other: false },
  ],
  ['Catalog (variant) with Catalog (product), waits for it', { condition: undefined, waits: true, other: false }],
  ['Flights (flight) with Airports (airport) twice', { condition: undefined, twice: true, other: false }],
  ['Orders (order) of the last year', { condition: undefined, other: true }],
])('the words of %s', (text, words) => {
  expect(contractWordsOf(text)).toMatchObject(words);
});
