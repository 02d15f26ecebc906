import { expect, it } from 'vitest';
import { fits, forecastOf, limitFor } from '../../../../src/procedures/move/switch/forecast.ts';

it('a pause is expected to take what its requests, the copying and the counts take', () => {
  const { offlineMs, onlineMs } = forecastOf({ requestMs: 10, copyMs: 20, countMs: 30 });
  expect(offlineMs).toBe(3 * 10 + 40);
  // Counts and two readings are beside one another.
  expect(onlineMs).toBe(offlineMs + 4 * 10 + 40);
  expect(forecastOf({ requestMs: 10, copyMs: 20, countMs: 300 }).onlineMs).toBe(offlineMs + 4 * 10 + 300);
  // The first reading is beside the requests to the map.
  expect(forecastOf({ requestMs: 10, copyMs: 60, countMs: 30 }).onlineMs).toBe(offlineMs + 60 + 2 * 60);
});

it('a try begins only where its parts leave room within the limits', () => {
  expect(fits({ requestMs: 10, copyMs: 20, countMs: 30 }, 1_000)).toBe(true);
  // Late to go offline, and late to come online.
  expect(fits({ requestMs: 130, copyMs: 20, countMs: 30 }, 1_000)).toBe(false);
  expect(fits({ requestMs: 10, copyMs: 200, countMs: 30 }, 1_000)).toBe(false);
  expect(fits({ requestMs: 10, copyMs: 20, countMs: 600 }, 1_000)).toBe(false);
  expect(fits({ requestMs: 10, copyMs: 20, countMs: 600 }, 2_000)).toBe(true);
});

it('where no look is short enough, a try may take so long that the shortest fits, and no longer', () => {
  const slow = { requestMs: 100, copyMs: 300, countMs: 600 };
  const limitMs = limitFor(slow, 1_000, 60_000);
  expect(fits(slow, limitMs)).toBe(true);
  expect(fits(slow, limitMs / 2)).toBe(false);
  expect(limitFor({ ...slow, copyMs: 300_000 }, 1_000, 60_000)).toBe(60_000);
  expect(limitFor({ requestMs: 1, copyMs: 1, countMs: 1 }, 1_000, 60_000)).toBe(1_000);
});
