// A list whose items begin with texts, with lists, paragraphs and fences in them, line by line.
import type { BlockContent, List, ListItem, Paragraph } from 'mdast';
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

const EMPTY_ITEM = /^(?:[-*+]|\d{1,9}[.)])(?: |$)/;

/** A list that is open, with its last item. What belongs to the item begins at `column` or right of it. */
interface Level {
  readonly list: List;
  readonly mark: string;
  column: number;
  item: ListItem;
}

export function list(lines: readonly Line[], at: number): Plain | undefined {
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
          position: plainSpan(lines, next, column, next),
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
      open = { type: 'paragraph', children: [], position: plainSpan(lines, next, column, next) };
      parent.item.children.push(open);
      grow(next);
    } else return undefined;
  }
  return root && { node: root, next };
}

function stretch(node: List | ListItem | Paragraph, lines: readonly Line[], to: number): void {
  if (node.position) node.position.end = plainSpan(lines, to, 0, to).end;
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
  const open: Paragraph = { type: 'paragraph', children: [], position: plainSpan(lines, at, from, at) };
  const checked = box ? box.groups?.['tick'] !== ' ' : null;
  return { item: { type: 'listItem', checked, children: [open], position: plainSpan(lines, at, column, at) }, open };
}

/** A text behind a box: a word, or bold words. */
const BOXED = /^(?:[\p{L}\p{N}]|\*\*[\p{L}\p{N}][^*`\\[\]<_~]*(?:[\p{L}\p{N}]\*\*|[.:?!)]\*\*(?= |$)))/u;
