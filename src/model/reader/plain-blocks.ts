// Reads the blocks that are certain at a glance, which is nearly all of a modelling document: headings, fences, tables,
// paragraphs and lists in their common forms. The Markdown parser reads all others (`markdown.ts`). It takes many times as
// long for a character, and most of that for the inside of texts, which readers cut from the source.
import type {
  BlockContent,
  Code,
  Heading,
  List,
  ListItem,
  Paragraph,
  PhrasingContent,
  RootContent,
  Table,
} from 'mdast';

export interface Line {
  /** Without its end. */
  readonly text: string;
  readonly offset: number;
  readonly end: string;
}

export function linesOf(text: string): Line[] {
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
      if (RULE.test(text)) return { node: { type: 'thematicBreak', position: span(lines, at, 0, at) }, next: at + 1 };
      return ITEM.test(text) ? list(lines, at) : paragraph(lines, at);
  }
}

export const isBlank = ({ text }: Line): boolean => /^[ \t]*$/.test(text);
/** After an empty line outside of fences, such a line ends every list, quote and table above it. */
export const beginsBlock = ({ text }: Line): boolean => /^(?:#{1,6} |\||\*\*[^\s*]|[^\0-\u007f]|[a-z])/i.test(text);

const NONE: Line = { text: '', offset: 0, end: '' };
const RULE = /^(?:-{3,}|\*{3,}|_{3,})$/;
const ITEM = /^(?<indent> *)(?<marker>[-*+]|\d{1,9}[.)])(?<gap> {1,4})(?=[^ ])/;
const EMPTY_ITEM = /^(?:[-*+]|\d{1,9}[.)])(?: |$)/;
/** How a line of a paragraph may begin so that it can't begin, underline or end anything else. */
const TEXT =
  /^(?:[^\0-\u007f]|[a-z"'(@$%/,;.?!&]|\d(?!\d{0,8}[.)])|\*\*[^\s*]|\*[^\s*]|_[^\s_]|`(?!``)|~(?!~~)|[-+][^\s\-+:|])/i;
/** The parser finds waivers in texts, and expands tabs. */
const isPlain = ({ text }: Line): boolean => !/[\t\0]|<!--/.test(text);
const continues = ({ text }: Line): boolean => TEXT.test(text.trimStart());

type Position = NonNullable<Paragraph['position']>;

/** From a column of a line to the end of another one, without the spaces there; `end` is a column of the last line. */
function span(lines: readonly Line[], from: number, column: number, to: number, end?: number): Position {
  const first = lines[from] ?? NONE;
  const last = lines[to] ?? NONE;
  const until = end ?? last.text.length;
  return {
    start: { line: from + 1, column: column + 1, offset: first.offset + column },
    end: { line: to + 1, column: until + 1, offset: last.offset + until },
  };
}

/** Words, code and nothing else that Markdown would change. */
const TITLE = /^#{1,6} +(?<words>(?:[^\s\\`*_~[\]<&]|`[^`]+`|(?<=\w)_(?=\w)|&(?=[ ])| (?! *$))+?)$/;

function heading(lines: readonly Line[], at: number): Plain | undefined {
  const { text } = lines[at] ?? NONE;
  const words = TITLE.exec(text)?.groups?.['words'];
  if (words === undefined || words.endsWith('#')) return undefined;
  const from = text.length - words.length;
  const children: PhrasingContent[] = [];
  let column = from;
  for (const part of words.split(/(`[^`]+`)/)) {
    const position = span(lines, at, column, at, column + part.length);
    column += part.length;
    if (part.startsWith('`')) {
      const value = part.slice(1, -1);
      const padded = /^ .* $/.test(value) && value.trim() !== '';
      children.push({ type: 'inlineCode', value: padded ? value.slice(1, -1) : value, position });
    } else if (part !== '') children.push({ type: 'text', value: part, position });
  }
  const depth = /^#+/.exec(text)?.[0].length;
  const node = { type: 'heading', depth, children, position: span(lines, at, 0, at) };
  return { node: node as Heading, next: at + 1 };
}

interface Fence {
  readonly mark: string;
  readonly info: string;
}

/** The text of a line that opens a fence. Undefined: it opens none, or its words have escapes. */
function fenceAt(text: string): Fence | undefined {
  const { mark = '', info = '' } = /^(?<mark>`{3,}|~{3,})(?<info>[^`\\&]*)$/.exec(text)?.groups ?? {};
  return mark === '' ? undefined : { mark, info: info.trim() };
}

/** A fence that something closes. `inside`: the column of the item that has it. */
function fenced(lines: readonly Line[], at: number, { mark, info }: Fence, inside: number): Plain | undefined {
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
        position: span(lines, at, column, next),
      };
      return { node, next: next + 1 };
    }
    const indent = Math.min(column - inside, /^ */.exec(own)?.[0].length ?? 0);
    content += own.slice(indent) + line.end;
  }
  return undefined;
}

const columnOf = (line: Line | undefined): number => /^ */.exec(line?.text ?? '')?.[0].length ?? 0;

/** A comment of one line. */
function comment(lines: readonly Line[], at: number): Plain | undefined {
  const { text } = lines[at] ?? NONE;
  if (!/^<!--(?:(?!-->).)*-->$/.test(text) || /^<!--+>/.test(text)) return undefined;
  return { node: { type: 'html', value: text, position: span(lines, at, 0, at) }, next: at + 1 };
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
  const node: Table = { type: 'table', children: rows, position: span(lines, at, 0, next - 1) };
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
  position: span(lines, at, 0, at),
  children: read.map(({ from, to }) => {
    const position = span(lines, at, from, at, to);
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
  return { node: { type: 'paragraph', children: [], position: span(lines, at, 0, next - 1) }, next };
}

/** A list that is open, with its last item. What belongs to the item begins at `column` or right of it. */
interface Level {
  readonly list: List;
  readonly mark: string;
  column: number;
  item: ListItem;
}

function list(lines: readonly Line[], at: number): Plain | undefined {
  const levels: Level[] = [];
  /** Where a line without a mark goes on. */
  let open: Paragraph | undefined;
  let root: List | undefined;
  let next = at;
  const grow = (to: number): void => {
    for (const { list: grown, item } of levels) for (const node of [grown, item]) stretch(node, lines, to);
  };
  for (; next < lines.length; next++) {
    const line = lines[next] ?? NONE;
    if (isBlank(line)) {
      open = undefined;
      continue;
    }
    if (line.text.includes('\t')) return undefined;
    const column = columnOf(line);
    const depth = levels.filter((level) => level.column <= column).length;
    const parent = levels[depth - 1];
    const within = column - (parent?.column ?? 0);
    const own = line.text.slice(column);
    const item = within > 3 ? undefined : ITEM.exec(own)?.groups;
    const fence = within > 3 ? undefined : fenceAt(own);
    if (item) {
      if (!isPlain(line)) return undefined;
      const mark = item['marker'] ?? '';
      const kind = mark.slice(-1);
      const same = levels[depth]?.mark === kind;
      // Only a list that begins with 1 can interrupt a paragraph.
      if (!same && open && /^\d/.test(mark) && Number.parseInt(mark, 10) !== 1) return undefined;
      if (!same && root && depth === 0) break;
      levels.length = same ? depth + 1 : depth;
      const content = column + mark.length + (item['gap'] ?? '').length;
      const read = itemAt(lines, next, column, content);
      if (!read) return undefined;
      open = read.open;
      const known = levels[depth];
      if (known) {
        known.list.children.push(read.item);
        known.item = read.item;
        known.column = content;
      } else {
        const begun: List = {
          type: 'list',
          ordered: /\d/.test(mark),
          children: [read.item],
          position: span(lines, next, column, next),
        };
        root ??= begun;
        parent?.item.children.push(begun);
        levels.push({ list: begun, mark: kind, column: content, item: read.item });
      }
      grow(next);
    } else if (fence && parent) {
      const read = fenced(lines, next, fence, parent.column);
      if (!read) return undefined;
      levels.length = depth;
      parent.item.children.push(read.node as BlockContent);
      open = undefined;
      next = read.next - 1;
      grow(next);
    } else if (column === 0 && (fence || /^#{1,6} /.test(own))) break;
    else if (open) {
      if (!isPlain(line) || !continues(line)) return undefined;
      stretch(open, lines, next);
      grow(next);
    } else if (column === 0 && !EMPTY_ITEM.test(own)) break;
    else if (parent && within <= 3 && isPlain(line) && continues(line)) {
      levels.length = depth;
      open = { type: 'paragraph', children: [], position: span(lines, next, column, next) };
      parent.item.children.push(open);
      grow(next);
    } else return undefined;
  }
  return root && { node: root, next };
}

function stretch(node: List | ListItem | Paragraph, lines: readonly Line[], to: number): void {
  if (node.position) node.position.end = span(lines, to, 0, to).end;
}

/** An item that begins with a text, and perhaps with a box. */
function itemAt(
  lines: readonly Line[],
  at: number,
  column: number,
  content: number,
): { item: ListItem; open: Paragraph } | undefined {
  const text = (lines[at] ?? NONE).text.slice(content);
  const box = /^\[(?<tick>[ xX])\] (?=[^ ])/.exec(text);
  const own = box ? text.slice(box[0].length) : text;
  if (box ? !BOXED.test(own) : !TEXT.test(text)) return undefined;
  // The parser leaves the box in a text that begins with a mark.
  const from = box && !own.startsWith('*') ? content + box[0].length : content;
  const open: Paragraph = { type: 'paragraph', children: [], position: span(lines, at, from, at) };
  const checked = box ? box.groups?.['tick'] !== ' ' : null;
  return { item: { type: 'listItem', checked, children: [open], position: span(lines, at, column, at) }, open };
}

/** A text behind a box: a word, or bold words. */
const BOXED = /^(?:[\p{L}\p{N}]|\*\*[\p{L}\p{N}][^*`\\[\]<_~]*(?:[\p{L}\p{N}]\*\*|[.:?!)]\*\*(?= |$)))/u;
