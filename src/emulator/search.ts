/** The first of `length` places that is far enough, or `length`: all behind one that is are so too. */
export function first(length: number, enough: (at: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (enough(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
