/**
 * Calls `ask` once and returns that answer to every later call, whatever its arguments. After a failure the next call
 * asks again.
 */
export function once<A extends unknown[], T>(ask: (...given: A) => Promise<T>): (...given: A) => Promise<T> {
  let known: Promise<T> | undefined;
  return (...given) => {
    if (known) return known;
    known = ask(...given);
    known.catch(() => (known = undefined));
    return known;
  };
}
