// A document as a tree, by the Markdown parser with limits, because its time grows with the square of some marks.
import type { Root } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import type { UsageError } from '../../../base/errors.ts';
import { sharedError } from '../../../base/shared-errors.ts';

/**
 * The marks of emphasis, links and code. The parser compares each mark with those before it in its paragraph, so many
 * marks in one paragraph take long. A thousand paragraphs with 150 marks are fine, and one paragraph with 5,000.
 */
const MARKS = ['*', '_', '~', '[', ']', '!', '`', '<'];
const MOST_COMPARISONS = 12_500_000;
/** What the parser's time grows with the square of: at most so many in a document. */
const LIMITS: readonly (readonly [what: string, most: number, at: RegExp])[] = [
  // The first line of a quote, and an underline, at any depth.
  [
    'quotes or underlined headings',
    1_500,
    /(?<=^|\n[> \t]*\r?\n)[ \t]*>|(?<=\S\r?\n)[ \t>]*(?:=+|-+)[ \t]*(?=\r?\n|$)/g,
  ],
  ['headings', 5_000, /^ {0,3}#{1,6}[ \t]/gm],
  // The first item: the line before is none, and isn't indented.
  ['separate lists', 3_000, /(?<=^(?![ \t]|>|[-+*][ \t]|\d{1,9}[.)][ \t]).*\r?\n)[ \t]*(?:[-+*]|\d{1,9}[.)])[ \t]/gm],
  ['items, quotes or definitions', 10_000, /^[ \t>]*(?:>|[-+*][ \t]|\d{1,9}[.)][ \t]|\[[^\]\n]*\]:)/gm],
  ['columns', 0, /^(?:[^|\n]*\|){2000}/gm],
];
/** Addresses without brackets would be looked for in every word, and nothing reads links. */
const WITHOUT_ADDRESSES = { disable: { null: ['wwwAutolink', 'protocolAutolink', 'emailAutolink'] } };
const SYNTAX = gfm();
const NODES = gfmFromMarkdown().filter(({ transforms }) => transforms === undefined);

/** @throws UsageError `model-wrong`, with the line */
export function parseMarkdown(text: string, file: string): Root {
  for (const [what, most, at] of LIMITS) {
    const over = [...text.matchAll(at)][most];
    if (over) throw tooMany(what, file, text.slice(0, over.index).split('\n').length);
  }
  const extensions = [SYNTAX, WITHOUT_ADDRESSES, boundedMarks(file)];
  return fromMarkdown(text, { extensions, mdastExtensions: NODES });
}

const tooMany = (what: string, file: string, line: number): UsageError =>
  sharedError('model-wrong', `${file}, line ${line}, can't be read: there are too many ${what}`, {
    hint: 'Check that the path names the modelling document, and move data to other files.',
  });

/**
 * The parser calls this extension first at every mark, because it comes last. It counts the mark and never consumes it.
 */
function boundedMarks(file: string): ReturnType<typeof gfm> {
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
        `${file}, line ${line}, can't be read: there are too many of ${MARKS.join(' ')} in one paragraph`,
        { hint: 'Put code and data into a fence, and add blank lines between paragraphs.' },
      );
    },
    tokenize: (_effects, _ok, leave) => leave,
  };
  return { text: Object.fromEntries(MARKS.map((mark) => [mark.charCodeAt(0), counter])) };
}

/** The type of a construct that a syntax extension adds to the parser. */
type Construct = Exclude<NonNullable<NonNullable<ReturnType<typeof gfm>['text']>[number]>, readonly unknown[]>;
