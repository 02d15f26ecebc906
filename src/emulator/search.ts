/** Binary search: the first of `length` places for which `enough` holds, or `length`. It must hold for all later places. */
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
