import { assert, constantFrom, integer, property } from 'fast-check';
import { expect, test } from 'vitest';
import { timeWindow } from 'millrace';

test.each([
  ['2026-11-21T23:30:00Z', 'hour', 'UTC', '2026-11-21T23+00:00'],
  ['2026-11-21T23:30:00Z', 'hour', 'Europe/Berlin', '2026-11-22T00+01:00'],
  ['2026-11-21T23:30:00Z', 'day', 'Europe/Berlin', '2026-11-22'],
  ['2026-11-21T23:30:00Z', 'day', 'America/Los_Angeles', '2026-11-21'],
  ['2026-12-31T23:30:00Z', 'month', 'Asia/Kolkata', '2027-01'],
  ['2026-12-31T23:30:00Z', 'year', 'Europe/Berlin', '2027'],
  // ISO 8601: the first week has the year's first Thursday.
  ['2027-01-01T12:00:00Z', 'week', 'UTC', '2026-W53'],
  ['2026-01-01T12:00:00Z', 'week', 'UTC', '2026-W01'],
  ['2024-12-30T12:00:00Z', 'week', 'UTC', '2025-W01'],
  [1_795_217_400, 'day', 'UTC', '2026-11-20'],
] as const)('%s by %s in %s is %s', (at, unit, zone, window) => {
  expect(timeWindow(at, unit, zone)).toBe(window);
});

test('the hour in which the clock goes back is two', () => {
  const [first, second] = ['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z'].map((at) =>
    timeWindow(at, 'hour', 'Europe/Berlin'),
  );
  expect([first, second]).toEqual(['2026-10-25T02+02:00', '2026-10-25T02+01:00']);
});

test('a day of 23 or 25 hours is one day', () => {
  const at = integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2040, 0, 1) });
  assert(
    property(at, constantFrom('Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'UTC'), (ms, zone) => {
      const wall = new Date(ms).toLocaleDateString('sv-SE', { timeZone: zone });
      expect(timeWindow(ms, 'day', zone)).toBe(wall);
      expect(timeWindow(ms, 'hour', zone).slice(0, 10)).toBe(wall);
      expect(timeWindow(ms, 'month', zone)).toBe(wall.slice(0, 7));
    }),
  );
});

test('what is no date, and what is no zone, says so', () => {
  expect(() => timeWindow('yesterday', 'day')).toThrow(expect.objectContaining({ code: 'value-invalid' }));
  expect(() => timeWindow(Number.NaN, 'day')).toThrow(expect.objectContaining({ code: 'value-invalid' }));
  expect(() => timeWindow('2026-01-01', 'day', 'Europe/Atlantis')).toThrow(
    expect.objectContaining({ code: 'value-invalid' }),
  );
});
