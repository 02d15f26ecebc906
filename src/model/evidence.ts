// Words that somebody copies from a document, as evidence: the lines to copy from, and where the document has the words, in
// spite of marks and edits.

/** How many lines the words may go on. */
const REACH = 12;

/** The text without marks of Markdown, in lower case, with single blanks. */
export const evidenceText = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[*_`~\\]+/g, '')
    .replaceAll(/[|>#]+/g, ' ')
    .replaceAll(/[“”„]/g, '"')
    .replaceAll(/[‘’]/g, "'")
    .replaceAll(/\s+/g, ' ')
    .trim();

/** Finds the words near a line. Where they stand at another line than stated, as after an edit above, they are taken there. */
export function finderOf(
  lines: readonly string[],
): (words: string, near: number) => { readonly line: number; readonly to: number } | undefined {
  const plain = lines.map(evidenceText);
  return (words, near) => lineOf(plain, evidenceText(words), near);
}

/** The numbers below `length`, those near `from` first. Most words stand where they are said to be, so few are asked for. */
function* outward(from: number, length: number): Iterable<number> {
  for (let away = 0; away < Math.max(from + 1, length - from); away++) {
    if (from - away >= 0 && from - away < length) yield from - away;
    if (away > 0 && from + away < length) yield from + away;
  }
}

/** The place of the words nearest to a line. */
function lineOf(plain: readonly string[], words: string, near: number): { line: number; to: number } | undefined {
  if (words === '') return undefined;
  for (const index of outward(Math.min(near, plain.length) - 1, plain.length)) {
    const first = plain[index] ?? '';
    if (first === '') continue;
    let text = first;
    for (let end = index; end < Math.min(plain.length, index + REACH); end++) {
      if (end > index && plain[end]) text = `${text} ${plain[end]}`;
      const at = text.indexOf(words);
      // Words that begin in a later line are found from there.
      if (at >= 0 && at < first.length) return { line: index + 1, to: end + 1 };
      if (at >= 0) break;
    }
  }
  return undefined;
}

/** The lines with their numbers, for those who copy words from them. */
export function numbered(lines: readonly string[]): string {
  const width = String(lines.length).length;
  return lines.map((text, index) => `${String(index + 1).padStart(width)}  ${text}`.trimEnd()).join('\n');
}
