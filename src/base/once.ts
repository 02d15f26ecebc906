/** Asks at the first call and remembers the answer; one that failed is asked for again by the next call. */
export function once<A extends unknown[], T>(ask: (...given: A) => Promise<T>): (...given: A) => Promise<T> {
  let known: Promise<T> | undefined;
  return (...given) => {
    if (known) return known;
    known = ask(...given);
    known.catch(() => (known = undefined));
    return known;
  };
}
