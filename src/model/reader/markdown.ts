// The Markdown parser with a limit, and in parts: its time grows with the square of the marks in one paragraph, and of the
// table cells in one document.
import type { Nodes, Root } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import { modelError } from '../errors.ts';

/**
 * The marks of emphasis, links and code. The parser compares each mark with those before it in its paragraph, so many
 * marks in one paragraph take long. A thousand paragraphs with 300 marks are fine, and one paragraph with 10,000.
 */
const MARKS = ['*', '_', '~', '[', ']', '!', '`', '<'];
const MOST_COMPARISONS = 50_000_000;
/** A part has about this many characters at least. */
const PART = 8000;

/** Addresses without brackets would be looked for in every word, and nothing reads links. */
const WITHOUT_ADDRESSES = { disable: { null: ['wwwAutolink', 'protocolAutolink', 'emailAutolink'] } };
const NODES = gfmFromMarkdown().filter(({ transforms }) => transforms === undefined);

interface Part {
  readonly text: string;
  readonly offset: number;
  /** Lines before it. */
  readonly lines: number;
}

/** @throws UsageError `document-too-intricate`, with the line */
export function parseMarkdown(text: string, file: string, least = PART): Root {
  let lines = 0;
  const extensions = [gfm(), WITHOUT_ADDRESSES, boundedMarks(file, () => lines)];
  const children = partsOf(text, least).flatMap((part) => {
    ({ lines } = part);
    const tree = fromMarkdown(part.text, { extensions, mdastExtensions: NODES });
    if (part.offset > 0) for (const child of tree.children) move(child, part);
    return tree.children;
  });
  return { type: 'root', children };
}

/**
 * The text cut before headings. A heading at the start of a line, after an empty line, ends every list, quote and table,
 * and every fence in them. The text isn't cut where something may reach over headings: definitions, HTML, comments of
 * several lines, and fences whose end isn't certain.
 */
export function partsOf(text: string, least = PART): Part[] {
  const whole = [{ text, offset: 0, lines: 0 }];
  if (text.length < 2 * least || REACHING.test(text)) return whole;
  const parts: Part[] = [];
  let [from, fromLine, line, offset] = [0, 0, 0, 0];
  let fence: { readonly mark: string; readonly indent: string } | undefined;
  let blank = true;
  for (const row of text.split(/(?<=\r\n|\r(?!\n)|\n)/)) {
    const { indent = '', mark, info = '' } = FENCE.exec(row)?.groups ?? {};
    // A line left of an indented fence may end the list that has it, and so the fence.
    if (fence !== undefined && row.trim() !== '' && !row.startsWith(fence.indent)) return whole;
    if (mark !== undefined) {
      if (fence === undefined) fence = { mark, indent };
      else if (mark.startsWith(fence.mark) && info.trim() === '') fence = undefined;
    } else if (fence === undefined && blank && /^#{1,6}[ \t]/.test(row) && offset - from >= least) {
      parts.push({ text: text.slice(from, offset), offset: from, lines: fromLine });
      [from, fromLine] = [offset, line];
    }
    blank = row.trim() === '';
    offset += row.length;
    line += 1;
  }
  return [...parts, { text: text.slice(from), offset: from, lines: fromLine }];
}

const REACHING =
  /^ {0,3}\[[^\]\n]+\]:|<!--(?:(?!-->)[^\n])*$|^ {0,3}<(?!!--)|^ {0,3}(?:[-+*]|\d{1,9}[.)]|>).*(?:`{3}|~{3})/im;
const FENCE = /^(?<indent> {0,3})(?<mark>`{3,}|~{3,})(?<info>[^`\n]*)$/m;

function move(node: Nodes, part: Part): void {
  for (const point of [node.position?.start, node.position?.end]) {
    if (!point) continue;
    point.line += part.lines;
    if (point.offset !== undefined) point.offset += part.offset;
  }
  if ('children' in node) for (const child of node.children) move(child, part);
}

/**
 * The parser calls this extension first at every mark, because it comes last. It counts the mark and never consumes it.
 * `before`: the lines before the text that is parsed.
 */
function boundedMarks(file: string, before: () => number): ReturnType<typeof gfm> {
  /** The number of marks in each paragraph, and the offset of the last one. */
  const seen = new WeakMap<object, { readonly marks: number; readonly offset: number }>();
  let comparisons = 0;
  const counter: Construct = {
    previous() {
      const { line, offset } = this.now();
      const { marks, offset: last } = seen.get(this) ?? { marks: 0, offset: -1 };
      // The parser may visit a place repeatedly.
      if (offset <= last) return false;
      seen.set(this, { marks: marks + 1, offset });
      comparisons += marks;
      if (comparisons <= MOST_COMPARISONS) return false;
      throw modelError(
        'document-too-intricate',
        `${file}, line ${line + before()}, can't be read: there are too many of ${MARKS.join(' ')} in one paragraph`,
      );
    },
    tokenize: (_effects, _ok, leave) => leave,
  };
  return { text: Object.fromEntries(MARKS.map((mark) => [mark.charCodeAt(0), counter])) };
}

/** The type of a construct that a syntax extension adds to the parser. */
type Construct = Exclude<NonNullable<NonNullable<ReturnType<typeof gfm>['text']>[number]>, readonly unknown[]>;
