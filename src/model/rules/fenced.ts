/** A line that opens or closes a fence. */
export const FENCE = /^\s*(?:`{3}|~{3})/;

/** What stands in the closed fences of a document. `begin`: the index of the line that opens it. */
export function fencedIn(lines: readonly string[]): { begin: number; block: readonly string[] }[] {
  const fences = lines.flatMap((line, index) => (FENCE.test(line) ? [index] : []));
  return fences.flatMap((begin, number) => {
    const end = fences[number + 1];
    return number % 2 === 1 || end === undefined ? [] : [{ begin, block: lines.slice(begin + 1, end) }];
  });
}
