/**
 * How far this machine's clock is behind (above 0) or ahead of the service's, milliseconds, by the `_ts` of a write between
 * two readings of it. 0: within a second, because `_ts` is in whole seconds.
 */
export function clockOff(before: number, ts: number, after: number): number {
  const service = (ts + 0.5) * 1_000;
  return service < before - 1_000 ? service - before : service > after + 1_000 ? service - after : 0;
}

export const SYNCHRONISE = 'Synchronise the clock of this machine (NTP). Leases and promotions tolerate 90 s.';
