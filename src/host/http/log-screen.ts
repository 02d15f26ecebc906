import type { Screen } from '../../procedures/screen.ts';

/** Writes what an operation reports while it runs to a function's log. */
export const logScreen = (context: { log(text: string): void }): Screen => ({
  live: false,
  line: (text) => context.log(text),
  // An operation redraws many times a second, too often for a log. The caller logs the result.
  draw: () => undefined,
  progress: () => undefined,
});
