import { expect, test } from 'vitest';
import { prepare } from '../../src/emulator/sql/prepare.ts';

const run = (query: string, docs: Record<string, unknown>[] = [{ id: '1' }]): unknown[] =>
  [...prepare(query, new Map()).run(docs.map((doc) => ({ doc, text: JSON.stringify(doc) })))].map(
    (text) => JSON.parse(text) as unknown,
  );

const DATE = "'2026-01-31T10:20:30.1234567Z'";

test.each<[string, unknown]>([
  [`DateTimeAdd('month', 1, ${DATE})`, '2026-02-28T10:20:30.1234567Z'],
  [`DateTimeAdd('yyyy', -2, ${DATE})`, '2024-01-31T10:20:30.1234567Z'],
  [`DateTimeAdd('hh', 14, ${DATE})`, '2026-02-01T00:20:30.1234567Z'],
  [`DateTimeAdd('ns', 500, ${DATE})`, '2026-01-31T10:20:30.1234572Z'],
  [`DateTimeAdd('month', 1.5, ${DATE})`, undefined],
  [`DateTimeAdd('fortnight', 1, ${DATE})`, undefined],
  [`DateTimeDiff('year', '2025-12-31T23:59:59.0000000Z', ${DATE})`, 1],
  [`DateTimeDiff('dd', '2026-01-30T23:00:00.0000000Z', ${DATE})`, 1],
  [`DateTimeDiff('mcs', '2026-01-31T10:20:30.0000000Z', ${DATE})`, 123_456],
  [`DateTimeBin(${DATE}, 'hh')`, '2026-01-31T10:00:00.0000000Z'],
  [`DateTimeBin(${DATE}, 'mi', 15)`, '2026-01-31T10:15:00.0000000Z'],
  ['DateTimeFromParts(2026, 2, 3, 4, 5, 6, 70)', '2026-02-03T04:05:06.0000070Z'],
  ['DateTimeFromParts(2026, 2, 31)', undefined],
  [`DateTimePart('ns', ${DATE})`, 123_456_700],
  [`DateTimePart('mcs', ${DATE})`, 123_456],
  [`DateTimeToTicks('1970-01-01T00:00:00.0000000Z')`, 621_355_968_000_000_000],
  ['TicksToDateTime(621355968000000000)', '1970-01-01T00:00:00.0000000Z'],
  [`DateTimeToTimestamp(${DATE})`, 1_769_854_830_123],
  ['TimestampToDateTime(1769854830123)', '2026-01-31T10:20:30.1230000Z'],
  ["DateTimeToTimestamp('yesterday')", undefined],
  ['IntBitAnd(12, 10)', 8],
  ['IntBitOr(12, 10)', 14],
  ['IntBitXor(12, 10)', 6],
  ['IntBitNot(5)', -6],
  ['IntBitLeftShift(1, 40)', 2 ** 40],
  ['IntBitRightShift(-8, 1)', -4],
  ['IntBitAnd(1.5, 1)', undefined],
  ['SetDifference([1, 2, 2, 3], [2])', [1, 3]],
  ["CHOOSE(2, 'a', 'b')", 'b'],
  ["CHOOSE(3, 'a', 'b')", undefined],
  ["RegexExtract('order-4711', '(\\\\d+)')", '4711'],
])('%s', (expression, expected) => {
  expect(run(`SELECT VALUE ${expression}`)[0]).toEqual(expected);
});

test('COUNTIF, MAKELIST and MAKESET', () => {
  const docs = [1, 2, 2, 'x'].map((n, i) => ({ id: `${i}`, n }));
  expect(run('SELECT VALUE COUNTIF(c.n = 2) FROM c', docs)).toEqual([2]);
  expect(run('SELECT VALUE MAKELIST(c.n) FROM c', docs)).toEqual([[1, 2, 2, 'x']]);
  expect(run('SELECT VALUE MAKESET(c.n) FROM c', docs)).toEqual([[1, 2, 'x']]);
});

test.each([
  ['SELECT * FROM c GROUP BY c.a', "'SELECT *' is not valid"],
  ['SELECT c.b FROM c GROUP BY c.a', 'c["b"]'],
  ['SELECT COUNT(1), c.b FROM c', 'c["b"]'],
  ['SELECT c.a FROM c GROUP BY c.a ORDER BY c.a', "'ORDER BY' is not supported"],
  ['SELECT VALUE ST_DISTANCE(c.a, c.b) FROM c', 'not offered here'],
  ['SELECT VALUE VectorDistance(c.a, c.b) FROM c', 'not offered here'],
])('%s is refused', (query, message) => {
  expect(() => run(query)).toThrow(message);
});
