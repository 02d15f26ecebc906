import { type Clock, systemClock } from '../../base/clock.ts';

/**
 * A value that is made at the first call. After a failure the next call makes it again. A value that doesn't `stand` is
 * made again at the first call after `afterMs`. Calls at the same time share one `make`.
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
