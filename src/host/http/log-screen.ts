import type { Screen } from '../../operations/screen.ts';

/** What an operation says while it runs, into a function's log. */
export const logScreen = (context: { log(text: string): void }): Screen => ({
  live: false,
  line: (text) => context.log(text),
  // Redrawn many times a second: nothing for a log. The result is logged when it is there.
  draw: () => undefined,
  progress: () => undefined,
});
