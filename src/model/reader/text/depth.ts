// Finds nesting that no modelling document needs: a Markdown or JSON parser would need minutes, or overflow the stack.

/** The deepest nesting of lists and quotes. `INDENT`: the columns that such a nesting needs. */
const DEEPEST = 50;
const INDENT = 200;
/** The deepest nesting of arrays and objects in a fenced example. */
const DEEPEST_JSON = 200;

const MARKER = /[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t]))/y;
const INDENTED = new RegExp(String.raw`^[ \t]{${INDENT},}(?:[-+*]|\d{1,9}[.)])[ \t]`);

/** The first line that is nested too deep, from 1 on. */
export function tooDeepAt(text: string): number | undefined {
  let fenced = false;
  let depth = 0;
  for (const [index, line] of text.split(/\r\n|\r|\n/).entries()) {
    if (/^[ \t]*(```|~~~)/.test(line)) {
      fenced = !fenced;
      depth = 0;
    } else if (fenced) {
      for (const [bracket] of line.matchAll(/[[{\]}]/g)) {
        depth = bracket === '[' || bracket === '{' ? depth + 1 : Math.max(0, depth - 1);
        if (depth > DEEPEST_JSON) return index + 1;
      }
    }
    // The parser may see no fence here, so lines inside a fence are checked too.
    if (INDENTED.test(line) || markers(line) > DEEPEST) return index + 1;
  }
  return undefined;
}

function markers(line: string): number {
  let count = 0;
  MARKER.lastIndex = 0;
  while (count <= DEEPEST && MARKER.test(line)) count += 1;
  return count;
}
