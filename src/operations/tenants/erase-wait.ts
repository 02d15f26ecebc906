import { LANDING_BOUND_MS, WRITE_BOUND_MS } from '../../base/bounds.ts';
import type { Clock } from '../../base/clock.ts';
import type { ErasureRecord } from '../../engine/erasures/record.ts';

export const STOP_BOUND_MS = 7_000 + WRITE_BOUND_MS + LANDING_BOUND_MS;

export const stopped =
  (clock: Clock) =>
  async ({ at }: ErasureRecord, signal: AbortSignal): Promise<void> => {
    await clock.sleep(Math.max(0, Date.parse(at) + STOP_BOUND_MS - clock.now()), signal);
  };
