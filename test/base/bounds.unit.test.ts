import { expect, it } from 'vitest';
import { CLOCK_SKEW_MS, LANDING_BOUND_MS, TOMBSTONE_TTL_S, WRITE_BOUND_MS } from '../../src/base/bounds.ts';
import { REQUEST_TIMEOUT_MS } from '../../src/cosmos/request-timeout.ts';

it('a tombstone outlives every write that may still be on its way (PROC-L13a)', () => {
  expect(LANDING_BOUND_MS).toBeGreaterThan(REQUEST_TIMEOUT_MS);
  expect(TOMBSTONE_TTL_S * 1000).toBeGreaterThan(WRITE_BOUND_MS + LANDING_BOUND_MS + CLOCK_SKEW_MS);
});
