// A document as a tree: blocks that are certain are read by `plain-blocks.ts`, and the others by the Markdown parser, with
// a limit, because its time grows with the square of the marks in one paragraph.
import type { Nodes, Root, RootContent } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import { sharedError } from '../../../base/shared-errors.ts';
import { beginsBlock, plainBlock } from './plain-blocks.ts';
import { type Line, isBlank, plainLinesOf } from './plain-lines.ts';

/**
 * The marks of emphasis, links and code. The parser compares each mark with those before it in its paragraph, so many
 * marks in one paragraph take long. A thousand paragraphs with 300 marks are fine, and one paragraph with 10,000.
 */
const MARKS = ['*', '_', '~', '[', ']', '!', '`', '<'];
const MOST_COMPARISONS = 50_000_000;
/** Addresses without brackets would be looked for in every word, and nothing reads links. */
const WITHOUT_ADDRESSES = { disable: { null: ['wwwAutolink', 'protocolAutolink', 'emailAutolink'] } };
const SYNTAX = gfm();
const NODES = gfmFromMarkdown().filter(({ transforms }) => transforms === undefined);

/** @throws UsageError `model-wrong`, with the line */
export function parseMarkdown(text: string, file: string): Root {
  const lines = plainLinesOf(text);
  const children: RootContent[] = [];
  let at = 0;
  for (let line = lines[at]; line; line = lines[at]) {
    if (isBlank(line)) {
      at += 1;
      continue;
    }
    const plain = plainBlock(lines, at);
    if (plain) {
      children.push(plain.node);
      at = plain.next;
      continue;
    }
    const next = uncertainUntil(lines, at);
    // A definition changes headings before it too.
    if (next === undefined) return { type: 'root', children: byParser(text, file, 0, 0) };
    const end = lines[next]?.offset;
    // What a document's end leaves open has other places than what a heading ends.
    const part = end === undefined ? text.slice(line.offset) : `${text.slice(line.offset, end)}#`;
    const read = byParser(part, file, line.offset, at);
    for (const node of end === undefined ? read : read.slice(0, -1)) children.push(node);
    at = next;
  }
  return { type: 'root', children };
}

/**
 * The line where something begins that is certain again. Undefined: there may be something above it that reaches over
 * empty lines and headings: definitions, HTML, comments of several lines, and fences whose end isn't certain.
 */
function uncertainUntil(lines: readonly Line[], from: number): number | undefined {
  let fence: { readonly mark: string; readonly indent: string } | undefined;
  let [blank, tag] = [false, false];
  for (let at = from; at < lines.length; at++) {
    const line = lines[at];
    if (!line) break;
    if (REACHING.test(line.text)) return undefined;
    const { indent = '', mark, info = '' } = FENCE.exec(line.text)?.groups ?? {};
    // A line left of an indented fence may end the list that has it, and so the fence.
    if (fence !== undefined && !isBlank(line) && !line.text.startsWith(fence.indent)) return undefined;
    // What looks like a fence may be within HTML.
    tag = fence === undefined && !isBlank(line) && (tag || line.text.includes('<'));
    if (mark !== undefined) {
      if (tag) return undefined;
      if (fence === undefined) fence = { mark, indent };
      else if (mark.startsWith(fence.mark) && info.trim() === '') fence = undefined;
    } else if (fence === undefined && blank && beginsBlock(line)) return at;
    blank = isBlank(line);
  }
  return lines.length;
}

const REACHING =
  /^ {0,3}\[[^\]]+\]:|<!--(?:(?!-->).)*$|^ {0,3}<(?:pre|script|style|textarea|[?!](?!--))|^ {0,3}(?:[-+*]|\d{1,9}[.)]|>).*(?:`{3}|~{3})/i;
const FENCE = /^(?<indent> {0,3})(?<mark>`{3,}(?=[^`]*$)|~{3,})(?<info>.*)$/;

/** What the parser makes of a part of a document. `lines`: those before the part. */
function byParser(text: string, file: string, offset: number, lines: number): RootContent[] {
  const extensions = [SYNTAX, WITHOUT_ADDRESSES, boundedMarks(file, lines)];
  const { children } = fromMarkdown(text, { extensions, mdastExtensions: NODES });
  if (offset > 0) for (const child of children) move(child, offset, lines);
  return children;
}

function move(node: Nodes, offset: number, lines: number): void {
  for (const point of [node.position?.start, node.position?.end]) {
    if (!point) continue;
    point.line += lines;
    if (point.offset !== undefined) point.offset += offset;
  }
  if ('children' in node) for (const child of node.children) move(child, offset, lines);
}

/**
 * The parser calls this extension first at every mark, because it comes last. It counts the mark and never consumes it.
 * `before`: the lines before the text that is parsed.
 */
function boundedMarks(file: string, before: number): ReturnType<typeof gfm> {
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
      throw sharedError(
        'model-wrong',
        `${file}, line ${line + before}, can't be read: there are too many of ${MARKS.join(' ')} in one paragraph`,
        { hint: 'Put code and data into a fence, and add blank lines between paragraphs.' },
      );
    },
    tokenize: (_effects, _ok, leave) => leave,
  };
  return { text: Object.fromEntries(MARKS.map((mark) => [mark.charCodeAt(0), counter])) };
}

/** The type of a construct that a syntax extension adds to the parser. */
type Construct = Exclude<NonNullable<NonNullable<ReturnType<typeof gfm>['text']>[number]>, readonly unknown[]>;
