import { expect, it } from 'vitest';
import { parseDate } from '../../src/pipeline/date.ts';
import { timeWindow } from '../../src/pipeline/time-window.ts';

it.each([
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
  ['0099-12-31', '0099-12-31T00:00:00.000Z'],
  [-1, '1969-12-31T23:59:59.000Z'],
  [-62_135_596_800, '0001-01-01T00:00:00.000Z'],
  [-62_135_596_800_000, '0001-01-01T00:00:00.000Z'],
  [253_402_300_799_999, '9999-12-31T23:59:59.999Z'],
])('%j is a date', (value, expected) => {
  expect(new Date(parseDate(value)!).toISOString()).toBe(expected);
});

it.each(['0000-12-31', '0099-02-29', '9999-12-31T23:59:59-01:00', 253_402_300_800_000, -62_135_596_800_001, NaN])(
  '%j is none: its text would not sort by time',
  (value) => {
    expect(parseDate(value)).toBeUndefined();
  },
);

it('windows of early years have four digits, in every zone', () => {
  const first = '0001-01-01T00:00:00Z';
  expect((['day', 'week', 'month', 'year'] as const).map((unit) => timeWindow(first, unit))).toEqual([
    '0001-01-01',
    '0001-W01',
    '0001-01',
    '0001',
  ]);
  expect(timeWindow(first, 'day', 'America/New_York')).toBe('0000-12-31');
  expect(timeWindow(first, 'week', 'America/New_York')).toBe('0000-W52');
  expect(() => timeWindow('9999-12-31T23:59:59Z', 'day', 'Asia/Tokyo')).toThrow('year 10000 in Asia/Tokyo');
});
