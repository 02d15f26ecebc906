// What `model check --fix` changes: text inside quotes, backticks or a range of figures, where the service refuses what is
// written and only one other text can be meant. Prose isn't changed.
import type { SourceLine } from './model.ts';

/** A replacement in one line of a document. */
export interface Fix {
  readonly at: SourceLine;
  /** It occurs once in the line. */
  readonly from: string;
  readonly to: string;
}

export interface TextFix {
  readonly at: SourceLine;
  readonly before: string;
  readonly after: string;
}

/** A list belongs to the label above it, so its paths stand below the place of the fact. */
const FAR = 40;

/** The replacement of a path that is in quotes or backticks, from its place on to the next heading. */
export function fixOfPath(lines: readonly string[], { file, line }: SourceLine, from: string, to: string): Fix[] {
  for (const [index, text] of lines.slice(line - 1, line - 1 + FAR).entries()) {
    if (index > 0 && /^#{1,6}\s/.test(text)) return [];
    const quoted = ['`', '"', "'"].map((quote) => `${quote}${from}${quote}`).find((one) => text.includes(one));
    if (quoted !== undefined)
      return [{ at: { file, line: line + index }, from: quoted, to: quoted.replace(from, () => to) }];
  }
  return [];
}

/** The text with all fixes of its file that fit, and what changed. A fix whose line has another text is left out. */
export function applyFixes(text: string, file: string, fixes: readonly Fix[]): { text: string; changes: TextFix[] } {
  const lines = text.split(/(?<=\r\n|\r(?!\n)|\n)/);
  const before = new Map<number, string>();
  for (const { at, from, to } of fixes) {
    const old = lines[at.line - 1];
    if (at.file !== file || old === undefined || old.split(from).length !== 2) continue;
    if (!before.has(at.line)) before.set(at.line, old);
    lines[at.line - 1] = old.replace(from, () => to);
  }
  const changes = [...before]
    .toSorted(([one], [other]) => one - other)
    .map(([line, old]) => ({ at: { file, line }, before: old.trimEnd(), after: (lines[line - 1] ?? '').trimEnd() }));
  return { text: lines.join(''), changes };
}
