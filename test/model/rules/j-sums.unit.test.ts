import { expect, test } from 'vitest';
import { ANNOTATED_FIGURES } from '../../../src/model/rules/j-sums.ts';
import { annotated } from './annotated.ts';

const LINES = Array.from({ length: 6 }, (_, index) => `This is line number ${index + 1}.`);
const at = (line: number) => ({ line, words: `line number ${line}.` });
const sum = (operation: string, parts: number[], total: number, facts: object = {}) => ({
  kind: 'sum',
  ...at(1),
  what: 'counts',
  operation,
  parts,
  total,
  ...facts,
});
const messages = (...annotations: object[]) =>
  annotated(LINES, annotations, ANNOTATED_FIGURES).map(({ message }) => message);

test('parts that don’t make their total are named with both', () => {
  const [one] = annotated(LINES, [sum('sum', [15, 8, 4, 12, 3], 67)], ANNOTATED_FIGURES);
  expect(one?.message).toContain('the parts make 42, and the document says 67');
  expect(one?.evidence).toBe('15 + 8 + 4 + 12 + 3 = 42, not 67');
  expect(messages(sum('product', [1000, 86_400], 86_400))).toHaveLength(1);
});

test('a right total, and an approximate one, are fine', () => {
  expect(messages(sum('sum', [15, 8], 23), sum('product', [1000, 86_400], 86_400_000))).toEqual([]);
  expect(messages(sum('product', [1000, 86_400], 90_000_000, { about: true }))).toEqual([]);
  expect(messages(sum('product', [1000, 86_400], 90_000_000))).toEqual([]);
  expect(messages(sum('product', [1000, 86_400], 120_000_000, { about: true }))).toHaveLength(1);
});

const fact = (line: number, of: string, property: string, value: unknown, unit?: string) => ({
  kind: 'fact',
  ...at(line),
  of,
  property,
  value,
  ...(unit !== undefined && { unit }),
});

test('documents of a partition times their size stay below 20 GB', () => {
  const type = { kind: 'type', ...at(3), type: 'Memory' };
  const [one] = messages(
    type,
    fact(1, 'documents per partition', 'number', '100K - 500K'),
    fact(2, 'Memory', 'typical size', '10-50 KB'),
  );
  expect(one).toContain('are up to 25 GB');
  expect(
    messages(type, fact(1, 'documents per partition', 'number', '1000'), fact(2, 'Memory', 'typical size', '10-50 KB')),
  ).toEqual([]);
});

const limit = (name: string, value: number) => ({ kind: 'limit', ...at(4), limit: name, value });

test.each([
  ['logical-partition-size', 10e9, '20 GB'],
  ['item-size', 4 * 1024 ** 2, '2 MB'],
  ['batch-operations', 500, '100 operations'],
  ['minimum-autoscale-ru', 400, '1,000 RU/s'],
])('a wrong limit is corrected: %s %i', (name, value, right) => {
  expect(messages(limit(name, value))[0]).toContain(right);
});

test('decimal and binary units are both right', () => {
  expect(
    messages(
      limit('logical-partition-size', 20e9),
      limit('logical-partition-size', 20 * 1024 ** 3),
      limit('item-size', 2e6),
      limit('batch-operations', 100),
    ),
  ).toEqual([]);
});

test('a write for 1 RU is too cheap', () => {
  const [one] = messages(fact(1, 'Update a cart', 'RU cost', '1', 'RU'), fact(2, 'Get a cart', 'RU cost', 1, 'RU'));
  expect(one).toContain('"Update a cart" for 1 RU: a write of 1 KB takes 5 RU or more');
  expect(
    messages(fact(1, 'Update a cart', 'RU cost', 10, 'RU'), fact(2, 'Write of an indexed path', 'cost', 1, 'RU')),
  ).toHaveLength(0);
});

test('the sum of upper bounds may be below that of the total', () => {
  const lines = ['First: <1 second', 'Second: <2 seconds', 'Total: <10 seconds'];
  const bounds = (text: string, total: number) =>
    annotated(lines.with(0, text), [{ ...sum('sum', [1, 2], total), line: 1, words: text }], ANNOTATED_FIGURES);
  expect(bounds('First: <1 second', 10)).toEqual([]);
  expect(bounds('First: <1 second', 2)).toHaveLength(1);
  const exact = ['First: 1 second', 'Second: 2 seconds', 'Total: 10 seconds'];
  expect(annotated(exact, [{ ...sum('sum', [1, 2], 10), line: 1, words: exact[0] }], ANNOTATED_FIGURES)).toHaveLength(
    1,
  );
});
