import { expect, it } from 'vitest';
import { fits, forecastOf } from '../../../../src/operations/shards/moving/forecast.ts';

it('a pause is expected to take what its requests, the copying and the counts take', () => {
  const { offlineMs, onlineMs } = forecastOf({ requestMs: 10, copyMs: 20, countMs: 30 });
  expect(offlineMs).toBe(5 * 10 + 40 + 20);
  // Counts and two readings are beside one another.
  expect(onlineMs).toBe(offlineMs + 6 * 10 + 40);
  expect(forecastOf({ requestMs: 10, copyMs: 20, countMs: 300 }).onlineMs).toBe(offlineMs + 6 * 10 + 300);
});

it('a try begins only where its parts leave room within the limits', () => {
  expect(fits({ requestMs: 10, copyMs: 20, countMs: 30 }, 1_000)).toBe(true);
  // Late to go offline, and late to come online.
  expect(fits({ requestMs: 10, copyMs: 400, countMs: 30 }, 1_000)).toBe(false);
  expect(fits({ requestMs: 10, copyMs: 20, countMs: 600 }, 1_000)).toBe(false);
  expect(fits({ requestMs: 10, copyMs: 20, countMs: 600 }, 2_000)).toBe(true);
});
