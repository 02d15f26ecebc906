import type { Fence } from '../feed/tenure/fence.ts';

/** For work whose every write is decided on what was just read: it may take as long as it takes. */
export const untilStopped = (signal: AbortSignal): Fence => ({
  kind: 'host',
  tenure: {},
  signal,
  assert: () => signal.throwIfAborted(),
});
