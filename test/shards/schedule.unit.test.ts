import { describe, expect, it } from 'vitest';
import { type MapPeriod, periodsOf } from '../../src/shards/map/schedule.ts';

const DAY_MS = 86_400_000;

const periods = (every: MapPeriod, now: string, ahead = 2) =>
  periodsOf({ every, ahead, location: { database: 'o-{yyyy}-{mm}-{dd}' } }, new Date(now)).map(
    ({ from, to, location }) => [from.toISOString().slice(0, 10), to.toISOString().slice(0, 10), location.database],
  );

describe('the periods of a schedule', () => {
  it.each<[MapPeriod, string, string[]]>([
    ['month', '2026-01-31T23:59:59.999Z', ['2026-01-01', '2026-02-01', '2026-03-01']],
    ['month', '2026-11-30T00:00:00Z', ['2026-11-01', '2026-12-01', '2027-01-01']],
    ['month', '2028-02-29T12:00:00Z', ['2028-02-01', '2028-03-01', '2028-04-01']],
    ['day', '2028-02-28T12:00:00Z', ['2028-02-28', '2028-02-29', '2028-03-01']],
    ['day', '2100-02-28T00:00:00Z', ['2100-02-28', '2100-03-01', '2100-03-02']],
    ['year', '2028-02-29T00:00:00Z', ['2028-01-01', '2029-01-01', '2030-01-01']],
    ['year', '0099-07-01T00:00:00Z', ['0099-01-01', '0100-01-01', '0101-01-01']],
    // In every other zone of the test this is another month.
    ['month', '2026-03-31T23:30:00-01:00', ['2026-04-01', '2026-05-01', '2026-06-01']],
  ])('the periods of a schedule of a %s at %s begin in UTC, each where the one before ends', (every, now, begins) => {
    const found = periods(every, now);
    expect(found.map(([from]) => from)).toEqual(begins);
    expect(found.slice(0, -1).map(([, to]) => to)).toEqual(begins.slice(1));
    expect(found.map(([, , database]) => database)).toEqual(begins.map((begin) => `o-${begin}`));
  });

  it('the periods of a schedule of every day of nine years have that day, in a database that no other month has', () => {
    const databases = new Map<string, string>();
    const schedule = { every: 'month', ahead: 1, location: { database: '{yyyy}{mm}' } } as const;
    for (let ms = Date.UTC(1999, 11, 31); ms < Date.UTC(2009, 0, 1); ms += DAY_MS) {
      const now = new Date(ms);
      const [current, next] = periodsOf(schedule, now);
      if (!current || !next || now < current.from || now >= current.to || next.from > current.to)
        throw new Error(`${now.toISOString()} is in none of its periods`);
      const month = now.toISOString().slice(0, 7);
      expect(databases.get(current.location.database) ?? month).toBe(month);
      databases.set(current.location.database, month);
    }
    expect(databases.size).toBe(1 + 9 * 12);
  });
});
