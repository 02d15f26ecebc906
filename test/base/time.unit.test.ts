import { expect, it } from 'vitest';
import { CLOCK_SKEW_MS, LANDING_BOUND_MS, TOMBSTONE_TTL_S, WRITE_BOUND_MS } from '../../src/base/bounds.ts';
import { systemClock } from '../../src/base/clock.ts';
import { REQUEST_TIMEOUT_MS } from '../../src/cosmos/request-timeout.ts';

it('tombstones outlive every write that could undo them (PROC-L13a)', () => {
  expect(TOMBSTONE_TTL_S * 1_000).toBeGreaterThan(WRITE_BOUND_MS + LANDING_BOUND_MS + CLOCK_SKEW_MS);
  expect(LANDING_BOUND_MS).toBeGreaterThan(REQUEST_TIMEOUT_MS);
});

it('the system’s clock sleeps at least as long as it is asked to, and never goes back', async () => {
  const before = systemClock.monotonic();
  await systemClock.sleep(5);
  expect(systemClock.monotonic() - before).toBeGreaterThan(4);
  expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1_000);
});

it('a sleep ends with its signal', async () => {
  await expect(systemClock.sleep(60_000, AbortSignal.abort(new Error('stopped')))).rejects.toMatchObject({
    name: 'AbortError',
  });
  const stop = new AbortController();
  const sleeping = systemClock.sleep(60_000, stop.signal);
  stop.abort();
  await expect(sleeping).rejects.toMatchObject({ name: 'AbortError' });
});
