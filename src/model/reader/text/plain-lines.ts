// Lines of a document, and what can be said of one that isn't certain before the next is read: texts, items and fences.
import type { Code, Paragraph, RootContent } from 'mdast';

export interface Line {
  /** Without its end. */
  readonly text: string;
  readonly offset: number;
  readonly end: string;
}

export function plainLinesOf(text: string): Line[] {
  const lines: Line[] = [];
  const end = /\r\n|\r|\n/g;
  let offset = 0;
  for (let match = end.exec(text); match; match = end.exec(text)) {
    lines.push({ text: text.slice(offset, match.index), offset, end: match[0] });
    offset = end.lastIndex;
  }
  lines.push({ text: text.slice(offset), offset, end: '' });
  return lines;
}

export interface Plain {
  readonly node: RootContent;
  /** The line after it. */
  readonly next: number;
}

export const isBlank = ({ text }: Line): boolean => /^[ \t]*$/.test(text);

export const NONE: Line = { text: '', offset: 0, end: '' };
export const ITEM = /^(?<indent> *)(?<marker>[-*+]|\d{1,9}[.)])(?<gap> {1,4})(?=[^ ])/;
/** How a line of a paragraph may begin so that it can't begin, underline or end anything else. */
export const TEXT =
  /^(?:[^\0-\u007f]|[a-z"'(@$%/,;.?!&]|\d(?!\d{0,8}[.)])|\*\*[^\s*]|\*[^\s*]|_[^\s_]|`(?!``)|~(?!~~)|[-+][^\s\-+:|])/i;
/** The parser finds waivers in texts, and expands tabs. */
export const isPlain = ({ text }: Line): boolean => !/[\t\0]|<!--/.test(text);
export const continues = ({ text }: Line): boolean => TEXT.test(text.trimStart());

type Position = NonNullable<Paragraph['position']>;

/** From a column of a line to the end of another one, or to its column `end`. */
export function plainSpan(lines: readonly Line[], from: number, column: number, to: number, end?: number): Position {
  const first = lines[from] ?? NONE;
  const last = lines[to] ?? NONE;
  const until = end ?? last.text.length;
  return {
    start: { line: from + 1, column: column + 1, offset: first.offset + column },
    end: { line: to + 1, column: until + 1, offset: last.offset + until },
  };
}

export interface PlainFence {
  readonly mark: string;
  readonly info: string;
}

/** The text of a line that opens a fence. Undefined: it opens none, or its words have escapes. */
export function fenceAt(text: string): PlainFence | undefined {
  const { mark = '', info = '' } = /^(?<mark>`{3,}|~{3,})(?<info>[^`\\&]*)$/.exec(text)?.groups ?? {};
  return mark === '' ? undefined : { mark, info: info.trim() };
}

/** A fence that something closes. `inside`: the column of the item that has it. */
export function fenced(
  lines: readonly Line[],
  at: number,
  { mark, info }: PlainFence,
  inside: number,
): Plain | undefined {
  const column = columnOf(lines[at]);
  const closing = new RegExp(`^ {0,3}\\${mark.charAt(0)}{${mark.length},} *$`);
  let content = '';
  for (let next = at + 1; next < lines.length; next++) {
    const line = lines[next] ?? NONE;
    if (line.text.includes('\0') || (inside > 0 && line.text.includes('\t'))) return undefined;
    if (!isBlank(line) && columnOf(line) < inside) return undefined;
    const own = line.text.slice(inside);
    if (closing.test(own)) {
      const [lang, ...meta] = info.split(/ +/);
      const node: Code = {
        type: 'code',
        lang: lang === '' || lang === undefined ? null : lang,
        meta: meta.length === 0 ? null : info.slice(info.indexOf(' ')).trim(),
        value: content.replace(/(?:\r\n|\r|\n)$/, ''),
        position: plainSpan(lines, at, column, next),
      };
      return { node, next: next + 1 };
    }
    const indent = Math.min(column - inside, /^ */.exec(own)?.[0].length ?? 0);
    content += own.slice(indent) + line.end;
  }
  return undefined;
}

export const columnOf = (line: Line | undefined): number => /^ */.exec(line?.text ?? '')?.[0].length ?? 0;
