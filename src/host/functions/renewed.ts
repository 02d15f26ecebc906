import { type Clock, systemClock } from '../../base/clock.ts';

/**
 * A value made when it is first asked for. Making it anew: after a failure at once, and where it doesn't `stand` for
 * good, at the first call `afterMs` later. A call waits for whoever makes it already.
 */
export function renewed<T>(
  make: () => Promise<T>,
  { stands, afterMs, clock = systemClock }: { stands: (value: T) => boolean; afterMs: number; clock?: Clock },
): () => Promise<T> {
  let made: { readonly value: Promise<T>; until: number } | undefined;
  return () => {
    if (made && clock.monotonic() < made.until) return made.value;
    const current = { value: make(), until: Infinity };
    made = current;
    current.value.then(
      (value) => (current.until = stands(value) ? Infinity : clock.monotonic() + afterMs),
      () => (current.until = 0),
    );
    return current.value;
  };
}
