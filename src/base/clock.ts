import { setTimeout as delay } from 'node:timers/promises';

/** The time functions of every room. Tests and the model checks pass their own. */
export interface Clock {
  /** Wall clock, milliseconds since 1970. */
  now(): number;
  /** Never goes backwards; milliseconds from an arbitrary start. */
  monotonic(): number;
  /** Resolves after `ms`, or rejects with the signal's reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    await delay(ms, undefined, signal ? { signal } : undefined);
  },
};
