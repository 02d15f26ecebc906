import { expect, test } from 'vitest';
import { agree, listOf, statedOf } from '../../../src/model/annotations/values.ts';

const stated = (value: string | number | boolean, unit?: string) =>
  statedOf({ value, ...(unit !== undefined && { unit }) });

test.each([
  [stated(90, 'days'), stated(7_776_000, 's')],
  [stated('90 days'), stated(7_776_000, 'seconds')],
  [stated('1,000'), stated(1000)],
  [stated('2 MB'), stated(2000, 'KB')],
  // Another measure isn't another value.
  [stated(5, 'users'), stated(7, 'documents')],
  [stated('Blob Storage'), stated('blob')],
  [stated('`Orders`'), stated('orders')],
  [stated('open, closed'), stated('closed | open')],
  [stated('open, closed'), stated('whatever the caller sends')],
])('%o and %o can both be true', (a, b) => {
  expect(agree(a, b)).toBe(true);
  expect(agree(b, a)).toBe(true);
});

test.each([
  [stated(90, 'days'), stated(30, 'days')],
  [stated('8'), stated(16)],
  [stated('10 GB'), stated(20, 'GB')],
  [stated('lowercase'), stated('mixed case')],
  [stated(true), stated(false)],
  [stated('open, closed'), stated('open, closed, done')],
])('%o and %o differ', (a, b) => {
  expect(agree(a, b)).toBe(false);
  expect(agree(b, a)).toBe(false);
});

test('a list is of single words', () => {
  expect(listOf('Pending → Confirmed|Cancelled')).toEqual(['Pending', 'Confirmed', 'Cancelled']);
  expect(listOf("['open', 'in-progress']")).toEqual(['open', 'in-progress']);
  expect(listOf('open')).toBeUndefined();
  expect(listOf('one of them, or another')).toBeUndefined();
});
