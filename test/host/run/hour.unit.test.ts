import { expect, it } from 'vitest';
import { Hour } from '../../../src/host/run/hour.ts';

const reading = (...handled: readonly number[]) => [
  { container: 'Orders', leases: handled.map((of, at) => ({ id: `P..${at}`, handled: of })) },
];

it('a host has a point for each minute of the last hour, with its changes a second and how far it is behind', () => {
  const hour = new Hour();
  hour.sample(reading(0), [{ lag: 90 }], 0);
  hour.sample(reading(300), [{ lag: 60 }], 30_000);
  expect(hour.history).toEqual([]);
  hour.sample(reading(600, 60), [{ lag: 40 }, { lag: 2 }], 60_000);
  expect(hour.history).toEqual([[60, 11, 42]]);
  // No report came for five minutes: there are no points of them.
  hour.sample(reading(960, 60), [{ lag: 1 }, { lag: null }], 360_000);
  expect(hour.history).toEqual([
    [60, 11, 42],
    [360, 1.2, null],
  ]);
  for (let minute = 7; minute < 100; minute++) hour.sample(reading(960, 60), [], 60_000 * minute);
  expect(hour.history).toHaveLength(60);
  expect(hour.history[0]?.[0]).toBe(60 * 40);
});

it('a lease that a host gives away and gets again is counted from its beginning there', () => {
  const hour = new Hour();
  hour.sample(reading(100), [], 0);
  hour.sample(reading(), [], 10);
  hour.sample(reading(5), [], 20);
  hour.sample(reading(15), [], 60_000);
  // 100 were there before its first report.
  expect(hour.history).toEqual([[60, 0.3, 0]]);
});
