// Reads the blocks that are certain at a glance, which is nearly all of a modelling document: headings, fences, tables,
// paragraphs and lists in their common forms. The Markdown parser reads all others (`markdown.ts`). It takes many times as
// long for a character, and most of that for the inside of texts, which readers cut from the source.
import type { Heading, PhrasingContent, Table } from 'mdast';
import {
  type Line,
  type Plain,
  ITEM,
  NONE,
  TEXT,
  columnOf,
  continues,
  fenceAt,
  fenced,
  isBlank,
  isPlain,
  plainSpan,
} from './plain-lines.ts';
import { list } from './plain-lists.ts';

/**
 * The block that begins in a line, where nothing above is open. Undefined: it isn't certain. Paragraphs have no children,
 * and table cells only one with the place of their text, because readers cut both from the source.
 */
export function plainBlock(lines: readonly Line[], at: number): Plain | undefined {
  const { text } = lines[at] ?? NONE;
  if (text.includes('\t') || text.includes('\0')) return undefined;
  switch (text.charAt(0)) {
    case '#':
      return heading(lines, at);
    case '|':
      return table(lines, at);
    case '`':
    case '~': {
      const fence = fenceAt(text);
      return fence ? fenced(lines, at, fence, 0) : paragraph(lines, at);
    }
    case '<':
      return comment(lines, at);
    default:
      if (RULE.test(text))
        return { node: { type: 'thematicBreak', position: plainSpan(lines, at, 0, at) }, next: at + 1 };
      return ITEM.test(text) ? list(lines, at) : paragraph(lines, at);
  }
}

/** After an empty line outside of fences, such a line ends every list, quote and table above it. */
export const beginsBlock = ({ text }: Line): boolean => /^(?:#{1,6} |\||\*\*[^\s*]|[^\0-\u007f]|[a-z])/i.test(text);

const RULE = /^(?:-{3,}|\*{3,}|_{3,})$/;
/** A longer heading is the parser's: the expression takes time with the square of the spaces. */
const LONGEST = 400;
/** Words, code and nothing else that Markdown would change. */
const TITLE = /^#{1,6} +(?<words>(?:[^\s\\`*_~[\]<&]|`[^`]+`|(?<=\w)_(?=\w)|&(?=[ ])| (?! *$))+?)$/;

function heading(lines: readonly Line[], at: number): Plain | undefined {
  const { text } = lines[at] ?? NONE;
  const words = text.length > LONGEST ? undefined : TITLE.exec(text)?.groups?.['words'];
  if (words === undefined || words.endsWith('#')) return undefined;
  const from = text.length - words.length;
  const children: PhrasingContent[] = [];
  let column = from;
  for (const part of words.split(/(`[^`]+`)/)) {
    const position = plainSpan(lines, at, column, at, column + part.length);
    column += part.length;
    if (part.startsWith('`')) {
      const value = part.slice(1, -1);
      const padded = /^ .* $/.test(value) && value.trim() !== '';
      children.push({ type: 'inlineCode', value: padded ? value.slice(1, -1) : value, position });
    } else if (part !== '') children.push({ type: 'text', value: part, position });
  }
  const depth = /^#+/.exec(text)?.[0].length;
  const node = { type: 'heading', depth, children, position: plainSpan(lines, at, 0, at) };
  return { node: node as Heading, next: at + 1 };
}

/** A comment of one line. */
function comment(lines: readonly Line[], at: number): Plain | undefined {
  const { text } = lines[at] ?? NONE;
  if (!/^<!--(?:(?!-->).)*-->$/.test(text) || /^<!--+>/.test(text)) return undefined;
  return { node: { type: 'html', value: text, position: plainSpan(lines, at, 0, at) }, next: at + 1 };
}

/** Each row begins and ends with a bar. */
function table(lines: readonly Line[], at: number): Plain | undefined {
  const head = cells(lines, at);
  const under = lines[at + 1]?.text ?? '';
  if (!head || !/^\|(?: *:?-+:? *\|)+ *$/.test(under) || under.split('|').length - 2 !== head.length) return undefined;
  const rows = [row(lines, at, head)];
  let next = at + 2;
  for (let line = lines[next]; line !== undefined && !isBlank(line); line = lines[++next]) {
    if (/^#{1,6} /.test(line.text) || fenceAt(line.text)) break;
    const read = cells(lines, next);
    if (!read) return undefined;
    rows.push(row(lines, next, read));
  }
  const node: Table = { type: 'table', children: rows, position: plainSpan(lines, at, 0, next - 1) };
  return { node, next };
}

interface Cell {
  readonly from: number;
  readonly to: number;
}

function cells(lines: readonly Line[], at: number): Cell[] | undefined {
  const line = lines[at] ?? NONE;
  // A cell that is struck through is a matter of its inside.
  if (!/^\|.*\| *$/.test(line.text) || !isPlain(line) || /\| *~[^|]*~ *\|/.test(line.text)) return undefined;
  const found: Cell[] = [];
  const cell = /(?<text>(?:\\[\\|]|[^|])*)\|/g;
  cell.lastIndex = 1;
  for (let match = cell.exec(line.text); match; match = cell.exec(line.text)) {
    const text = match.groups?.['text'] ?? '';
    const from = match.index + (/^ */.exec(text)?.[0].length ?? 0);
    found.push({ from, to: Math.max(from, match.index + text.trimEnd().length) });
    if (cell.lastIndex >= line.text.trimEnd().length) return found;
  }
  return undefined;
}

const row = (lines: readonly Line[], at: number, read: readonly Cell[]): Table['children'][number] => ({
  type: 'tableRow',
  position: plainSpan(lines, at, 0, at),
  children: read.map(({ from, to }) => {
    const position = plainSpan(lines, at, from, at, to);
    const value = (lines[at] ?? NONE).text.slice(from, to);
    return { type: 'tableCell', position, children: value === '' ? [] : [{ type: 'text', value, position }] };
  }),
});

/** What a line does that follows a line of a paragraph. */
function endsParagraph(line: Line | undefined): boolean {
  if (line === undefined || isBlank(line)) return true;
  const { text } = line;
  const item = ITEM.exec(text);
  if (item) return columnOf(line) === 0 && !/^(?!1[.)])\d/.test(text);
  return /^#{1,6} /.test(text) || fenceAt(text) !== undefined;
}

function paragraph(lines: readonly Line[], at: number): Plain | undefined {
  const first = lines[at] ?? NONE;
  if (!TEXT.test(first.text) || !isPlain(first)) return undefined;
  let next = at + 1;
  for (; !endsParagraph(lines[next]); next++) {
    const line = lines[next] ?? NONE;
    if (!isPlain(line) || !continues(line)) return undefined;
  }
  return { node: { type: 'paragraph', children: [], position: plainSpan(lines, at, 0, next - 1) }, next };
}
